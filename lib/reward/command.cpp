#include "reward/command.h"

#include <optional>

#include "base/child_process.h"
#include "base/error.h"
#include "reward/reply.h"

namespace roll {

namespace {

constexpr double kEndGrace_s = 2;            // a program that closed its output gets this long to end with a status
constexpr int64_t kMostFailuresInARow = 32;  // then it is the program that fails, not its answers

class CommandReward : public RewardFunction {
 public:
  CommandReward(const CommandArgs& args, const RuleContext& context)
      : command_(args.command), timeout_s_(context.timeout_s), where_(context.where) {}

  void prepare() override {
    start_with([&] { check_executable(command_[0]); });
  }

  RewardResult score(const RewardQuery& query) override {
    if (!child_) start_with([&] { child_.emplace(command_); });
    std::string line;
    const ChildProcess::Outcome outcome = child_->ask(request(query, ++id_), timeout_s_, line);
    switch (outcome) {
      case ChildProcess::Outcome::kTimeout:
        child_.reset();
        return timed_out();
      case ChildProcess::Outcome::kEnded:
        return failed(RewardFailure::kCrash, fmt::format("ended ({}) instead of answering", child_->end(kEndGrace_s)));
      case ChildProcess::Outcome::kTooLong:
        return failed(RewardFailure::kUnparsable,
                      fmt::format("answered more than {} bytes without a newline", ChildProcess::kLongestLine));
      case ChildProcess::Outcome::kUnasked:
        broken(
            fmt::format("printed {} without being asked; its standard output is for one line per question, which "
                        "should hold the question's id",
                        said_text(line)));
      case ChildProcess::Outcome::kDone:
        break;
    }
    Reply reply = parse_reply(line, id_);
    if (reply.kind == Reply::Kind::kNoAnswer) broken(reply.reason);
    if (reply.kind == Reply::Kind::kBadAnswer) return failed(RewardFailure::kUnparsable, reply.reason);
    failures_in_a_row_ = 0, has_answered_ = true;
    return std::move(reply.result);
  }

 private:
  template <class F>
  void start_with(const F& start) {
    try {
      start();
    } catch (const UserError& e) {
      throw user_error("{}command = {}; give a program that is there and may be executed", where_, e.what());
    }
  }

  static std::string request(const RewardQuery& q, int64_t id) {
    return to_line(Json{{"id", id},
                        {"prompt", q.prompt},
                        {"response", q.response},
                        {"ground_truth", q.ground_truth},
                        {"tag", q.tag},
                        {"domain", q.domain},
                        {"finish_reason", q.finish_reason},
                        {"num_response_tokens", q.num_response_tokens},
                        {"row", q.row}});
  }

  /// Later arguments may be secret.
  std::string shown_command() const {
    const auto end = command_.begin() + std::min<std::ptrdiff_t>(2, std::ssize(command_));
    return fmt::format("{}{}", fmt::join(command_.begin(), end, " "), end == command_.end() ? "" : " ...");
  }

  /// One answer's failure; the next question finds a fresh program.
  RewardResult failed(RewardFailure kind, const std::string& what) {
    if (!has_answered_) broken(what);
    if (++failures_in_a_row_ == kMostFailuresInARow)
      broken(fmt::format("{}, the {}th failure in a row", what, kMostFailuresInARow));
    child_.reset();
    return failed_reward(kind, what);
  }

  [[noreturn]] void broken(const std::string& what) {
    const std::string said = child_->stderr_tail();
    child_.reset();
    throw user_error("{}command = {}: the program {}; {}", where_, shown_command(), what,
                     said.empty() ? "it said nothing on standard error" : "its standard error ends:\n" + said);
  }

  std::vector<std::string> command_;
  double timeout_s_;
  std::string where_;
  std::optional<ChildProcess> child_;
  int64_t id_ = 0, failures_in_a_row_ = 0;
  bool has_answered_ = false;
};

}  // namespace

std::unique_ptr<RewardFunction> make_command(const CommandArgs& args, const RuleContext& context) {
  if (args.command.empty() || args.command[0].empty())
    throw user_error("{}command: missing; give the program and its arguments as a list", context.where);
  return std::make_unique<CommandReward>(args, context);
}

}  // namespace roll
