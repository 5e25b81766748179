#include "environment/program_peer.h"

#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "environment/environment.h"

namespace roll {

namespace {

constexpr std::chrono::seconds kEndGrace{1};  // a program that closed its output gets this long to end with a status
constexpr size_t kShownBytes = 200;

class ProgramPeer : public LinePeer {
 public:
  ProgramPeer(BoxedProgram program, bool is_boxed) : program_(std::move(program)), is_boxed_(is_boxed) {}

  void begin(const std::string& line, double timeout_s) override {
    timeout_s_ = timeout_s;
    kill_time_.reset();
    failure_.reset();
    try {
      if (!child_) start();
    } catch (const std::runtime_error& error) {
      failure_.emplace(EnvironmentFault::kCrash, fmt::format("could not be started: {}", error.what()));
      return;
    }
    child_->begin_ask(line, timeout_s);
  }

  std::optional<std::string> advance() override {
    if (failure_) throw EnvironmentFailed(*failure_);
    if (kill_time_) {
      if (child_->is_running() && Clock::now() < *kill_time_) return std::nullopt;
      fail(EnvironmentFault::kCrash, fmt::format("ended ({}) instead of answering", child_->end(0)));
    }
    std::string line;
    const auto outcome = child_->go_on(line);
    if (!outcome) return std::nullopt;
    using enum ChildProcess::Outcome;
    switch (*outcome) {
      case kDone:
        return line;
      case kEnded:
        kill_time_ = Clock::now() + kEndGrace;
        return advance();
      case kTimeout:
        fail(EnvironmentFault::kTimeout, fmt::format("gave no answer within {} s", timeout_s_));
      case kTooLong:
        fail(EnvironmentFault::kFlood,
             fmt::format("answered more than {} bytes without a newline", ChildProcess::kLongestLine));
      case kUnasked:
        fail(EnvironmentFault::kProtocol, fmt::format("printed {} without being asked", shown_answer(line)));
    }
    throw Bug("an outcome that nobody knows");
  }

  void add_polls(std::vector<pollfd>& polls) const override {
    if (child_) child_->add_polls(polls);
  }
  Clock::time_point next_check_time() const override {
    if (failure_ || !child_) return {};
    return kill_time_ ? *kill_time_ : child_->next_look();
  }

  std::string drop() override {
    std::string stderr_text = child_ ? child_->stderr_tail() : "";
    child_.reset();
    return stderr_text;
  }

 private:
  void start() {
    if (is_boxed_)
      child_.emplace(start_boxed(program_));
    else
      child_.emplace(program_.command);
  }
  [[noreturn]] void fail(EnvironmentFault fault, std::string why) {
    if (const std::string stderr_text = drop(); !stderr_text.empty()) why += "; its error output: " + stderr_text;
    throw EnvironmentFailed(fault, why);
  }

  const BoxedProgram program_;
  const bool is_boxed_;
  std::optional<ChildProcess> child_;
  std::optional<Clock::time_point> kill_time_;  // set once output is closed: when the program is killed
  std::optional<EnvironmentFailed> failure_;
  double timeout_s_ = 0;
};

}  // namespace

std::unique_ptr<LinePeer> make_program_peer(const BoxedProgram& program, bool is_boxed) {
  return std::make_unique<ProgramPeer>(program, is_boxed);
}

std::string shown_answer(std::string_view line) {
  return to_line(Json(std::string(line.substr(0, kShownBytes)))) + (line.size() > kShownBytes ? " ..." : "");
}

}  // namespace roll
