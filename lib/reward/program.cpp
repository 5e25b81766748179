#include "reward/program.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/shell.h"
#include "reward/shared.h"
#include "sandbox/boxed_program.h"

namespace roll {

namespace {

constexpr double kEndGrace_s = 2;            // time for a program that closed its output to end with a status
constexpr int64_t kMostFailuresInARow = 32;  // then the program counts as broken

/// Returns the script among an interpreter's arguments; "" if no argument is known to be one.
std::string find_script(const std::vector<std::string>& command) {
  const std::string program = std::filesystem::path(command[0]).filename();
  constexpr std::array kInterpreters{"python", "bash", "sh", "perl", "ruby", "node"};
  if (std::ranges::none_of(kInterpreters, [&](const char* name) { return program.starts_with(name); })) return "";
  for (size_t i = 1; i < command.size(); ++i) {
    const std::string& word = command[i];
    if (word == "-c" || word == "-m" || word == "-e") return "";
    constexpr std::array kEndings{".py", ".sh", ".pl", ".rb", ".js"};
    if (std::ranges::any_of(kEndings, [&](const char* ending) { return word.ends_with(ending); })) return word;
  }
  return "";
}

bool is_on_path(const char* program) {
  try {
    check_executable(program);
    return true;
  } catch (const UserError&) {
    return false;
  }
}

/// Returns the command with line-buffered output into the pipe. Perl, Ruby and programs with their own buffers ignore
/// this. A pseudo-terminal would work for them too, but there programs such as jq print colours.
std::vector<std::string> with_line_buffering(const std::vector<std::string>& command) {
  std::vector<std::string> words;
  if (is_on_path("env")) words = {"env", "PYTHONUNBUFFERED=1"};
  if (is_on_path("stdbuf")) words.insert(words.end(), {"stdbuf", "-oL"});
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

/// Returns the first two words of a command: later arguments may be secret.
std::string first_words(const std::vector<std::string>& command) {
  const auto end = command.begin() + std::min<std::ptrdiff_t>(2, std::ssize(command));
  return fmt::format("{}{}", fmt::join(command.begin(), end, " "), end == command.end() ? "" : " ...");
}

}  // namespace

RewardProgram::RewardProgram(const std::vector<std::string>& command, const RuleContext& context,
                             ProgramOptions options)
    : command_(command),
      timeout_s_(context.timeout_s),
      where_(context.where),
      options_(std::move(options)),
      shared_(context.shared),
      has_answered_(shared_->answered_flag(shell_line(command))) {
  if (command_.empty() || command_[0].empty())
    throw user_error("{}{}: missing; give the program and its arguments as a list", where_, options_.key);
  if (options_.shown.empty()) options_.shown = "command = " + first_words(command_);
}

template <class F>
void RewardProgram::start_with(const F& start) const {
  try {
    start();
  } catch (const UserError& e) {
    throw user_error("{}{} = {}; give a program that exists and may be executed", where_, options_.key, e.what());
  }
}

void RewardProgram::check_files() const {
  if (command_.size() == 1 && command_[0].find(' ') != std::string::npos && !is_there(command_[0]))
    throw user_error("{}command = {}: no program has this name; give the command's words as a list: [{}]", where_,
                     command_[0], fmt::join(shell_words(command_[0]), ", "));
  start_with([&] { check_executable(command_[0]); });
  if (const std::string script = find_script(command_); !script.empty() && !is_there(script))
    throw user_error("{}{}: the script {} does not exist; a path counts from the folder that roll runs in", where_,
                     options_.shown, script);
  if (options_.sandbox.empty()) return;
  std::optional<std::string> reason;
  start_with([&] { reason = why_not_boxed({.command = command_}); });
  if (reason) throw user_error("{} = true: {}", options_.sandbox, *reason);
}

const Json& RewardProgram::start() {
  if (child_) return ready_;
  start_with([&] {
    check_executable(command_[0]);
    if (options_.sandbox.empty())
      child_.emplace(with_line_buffering(command_));
    else
      child_.emplace(start_boxed({.command = command_}));
  });
  if (options_.start_s == 0) return ready_;
  std::string line;
  if (child_->ask("{}", options_.start_s, line) != ChildProcess::Outcome::kDone)
    broken(fmt::format("was not ready within {:g} s, or ended", options_.start_s));
  try {
    ready_ = parse_json(line, "answer");
  } catch (const UserError&) {
  }
  if (!ready_.is_object()) broken("answered " + said_text(line) + " at its start; the answer must be an object");
  return ready_;
}

RewardResult RewardProgram::ask(const Json& question,
                                const std::function<Reply(std::string_view line, int64_t id)>& parse) {
  std::string line;
  if (auto failure = exchange(question, timeout_s_, line)) return std::move(*failure);
  Reply reply = parse(line, id_);
  if (auto fault = reply_fault(reply)) return std::move(*fault);
  return std::move(reply.result);
}

std::vector<RewardResult> RewardProgram::ask_all(Json questions) {
  const size_t count = questions.size();
  std::string line;
  if (auto failure = exchange({{"questions", std::move(questions)}}, timeout_s_ * static_cast<double>(count), line))
    return {count, *failure};
  std::vector<Reply> replies;
  const Reply whole = parse_replies(line, id_, count, replies);
  if (auto fault = reply_fault(whole)) return {count, *fault};
  std::vector<RewardResult> results;
  for (Reply& reply : replies)
    results.push_back(reply.kind == Reply::Kind::kNoReward ? failed_reward(RewardFailure::kUnjudged, reply.reason)
                                                           : std::move(reply.result));
  return results;
}

/// Asks a question; returns a failure, or sets `line` to the answer.
std::optional<RewardResult> RewardProgram::exchange(const Json& question, double timeout_s, std::string& line) {
  start();
  Json request{{"id", ++id_}};
  request.update(question);
  switch (child_->ask(to_line(request), timeout_s, line)) {
    case ChildProcess::Outcome::kTimeout:
      return late();
    case ChildProcess::Outcome::kEnded:
      return failed(RewardFailure::kCrash, fmt::format("ended ({}) instead of answering", child_->end(kEndGrace_s)));
    case ChildProcess::Outcome::kTooLong:
      return failed(RewardFailure::kUnparsable,
                    fmt::format("answered more than {} bytes without a newline", ChildProcess::kLongestLine));
    case ChildProcess::Outcome::kUnasked:
      broken(
          fmt::format("printed {} without being asked; its standard output must hold one line per question, with the "
                      "question's id",
                      said_text(line)));
    case ChildProcess::Outcome::kDone:
      break;
  }
  return std::nullopt;
}

/// Returns the failure of a reply without a reward; nullopt if it has one.
std::optional<RewardResult> RewardProgram::reply_fault(const Reply& reply) {
  if (reply.kind == Reply::Kind::kNoAnswer) broken(reply.reason);
  if (reply.kind == Reply::Kind::kBadAnswer) return failed(RewardFailure::kUnparsable, reply.reason);
  if (reply.kind == Reply::Kind::kNoReward) {
    count_failure("failed: " + reply.reason);
    return failed_reward(RewardFailure::kUnjudged, reply.reason);
  }
  failures_in_a_row_ = 0;
  has_answered_ = true;
  return std::nullopt;
}

/// Returns a timeout, and warns about output buffering if the program has never answered.
RewardResult RewardProgram::late() {
  const std::string unread = child_->unread();
  child_.reset();
  if (!has_answered_)
    shared_->warn_once(fmt::format(
        "{}{}: {} within timeout_s ({} s) of its first question. Programs often buffer their output if it is not a "
        "terminal: flush each answer, in Python with print(..., flush=True), and end it with a newline. If the "
        "program needs this long to start, raise {}timeout_s",
        where_, options_.shown, unread.empty() ? "nothing came" : "no whole line came, only " + said_text(unread),
        timeout_s_, where_));
  return timed_out();
}

/// Returns the failure of one answer and kills the program; the next question starts it again.
RewardResult RewardProgram::failed(RewardFailure kind, const std::string& problem) {
  count_failure(problem);
  child_.reset();
  return failed_reward(kind, problem);
}

void RewardProgram::count_failure(const std::string& problem) {
  if (!has_answered_) broken(problem);
  if (++failures_in_a_row_ == kMostFailuresInARow)
    broken(fmt::format("{}, the {}th failure in a row", problem, kMostFailuresInARow));
}

void RewardProgram::broken(const std::string& problem) {
  const std::string stderr_text = child_->stderr_tail();
  child_.reset();
  throw user_error(
      "{}{}: the program {}; {}", where_, options_.shown, problem,
      stderr_text.empty() ? "it wrote nothing to standard error" : "its standard error ends:\n" + stderr_text);
}

}  // namespace roll
