#include "environment/command.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "base/error.h"
#include "base/json.h"
#include "environment/config.h"
#include "environment/environment.h"
#include "environment/tool_calls.h"
#include "process/child_process.h"

namespace roll {

namespace {

constexpr double kEndGrace_s = 1;                // a program that closed its output gets this long to end with a status
constexpr size_t kLongestObservation = 1 << 18;  // bytes
constexpr size_t kShownBytes = 200;

std::string shown(std::string_view said) {
  return to_line(Json(std::string(said.substr(0, kShownBytes)))) + (said.size() > kShownBytes ? " ..." : "");
}

/// An answer's fields.
class Answer {
 public:
  Answer(std::string_view line, int64_t id) : line_(line) {
    try {
      json_ = parse_json(line, "answer");
    } catch (const UserError&) {
      fail(EnvironmentFault::kGarbage, "no JSON object");
    }
    if (!json_.is_object()) fail(EnvironmentFault::kGarbage, "no JSON object");
    if (json_.contains("id") && json_["id"] != id)
      fail(EnvironmentFault::kProtocol, fmt::format("the question's id is {}", id));
  }

  bool has(const char* key) const { return json_.contains(key); }
  std::string text(const char* key) const { return text_of(at(key), key); }
  std::string text_or_none(const char* key) const { return json_.contains(key) ? text(key) : ""; }
  bool flag(const char* key) const {
    const Json& value = at(key);
    if (!value.is_boolean()) fail(EnvironmentFault::kProtocol, fmt::format("{} must be true or false", key));
    return value.get<bool>();
  }
  std::optional<bool> flag_or_none(const char* key) const {
    return json_.contains(key) ? std::optional(flag(key)) : std::nullopt;
  }
  /// One for each of `count` calls.
  std::vector<std::string> texts(const char* key, size_t count) const {
    const Json& value = at(key);
    if (!value.is_array() || value.size() != count)
      fail(EnvironmentFault::kProtocol, fmt::format("{} must be a list of {}, one for each call", key, count));
    std::vector<std::string> texts;
    for (const Json& one : value) texts.push_back(text_of(one, key));
    return texts;
  }
  /// A list of {"type": "function", "function": {"name", ...}}, or null where there is none.
  Json tools(const char* key) const {
    if (!has(key)) return nullptr;
    const auto is_tool = [](const Json& one) {
      return one.is_object() && one.contains("function") && one["function"].is_object() &&
             one["function"].contains("name") && one["function"]["name"].is_string();
    };
    const Json& value = at(key);
    if (!value.is_array() || value.empty() || !std::ranges::all_of(value, is_tool))
      fail(EnvironmentFault::kProtocol,
           fmt::format(R"({} must be a list of {{"type": "function", "function": {{"name": ..., ...}}}})", key));
    return value;
  }
  double reward(const char* key) const {
    const Json& value = at(key);
    const bool is_reward = value.is_number() && std::abs(value.get<double>()) <= kLargestTurnReward;
    if (!is_reward)
      fail(EnvironmentFault::kProtocol, fmt::format("{} must be a number within +-{}", key, kLargestTurnReward));
    return value.get<double>();
  }

 private:
  std::string text_of(const Json& value, const char* key) const {
    if (!value.is_string()) fail(EnvironmentFault::kProtocol, fmt::format("{} must be a text", key));
    if (value.get_ref<const std::string&>().size() > kLongestObservation)
      fail(EnvironmentFault::kFlood, fmt::format("{} has more than {} bytes", key, kLongestObservation));
    return value.get<std::string>();
  }
  const Json& at(const char* key) const {
    if (!json_.contains(key)) fail(EnvironmentFault::kProtocol, fmt::format("{} is missing", key));
    return json_.at(key);
  }
  [[noreturn]] void fail(EnvironmentFault fault, const std::string& why) const {
    throw EnvironmentFailed(fault, fmt::format("answered {}: {}", shown(line_), why));
  }

  std::string_view line_;
  Json json_;
};

class CommandEnvironment : public Environment {
 public:
  CommandEnvironment(const EnvironmentArgs& args, const std::string& where)
      : args_(args), calls_(args.tool_calls, args.tool_pattern, where + "tool_pattern") {}

  Json tools() const override { return args_.show_tools ? tools_ : Json(); }

  Opening reset(uint64_t seed) override {
    Json config = Json::object();
    for (const auto& [key, value] : args_.config) config[key] = value;
    return ask({{"method", "reset"}, {"seed", seed}, {"config", std::move(config)}}, [&](const Answer& answer) {
      tools_ = answer.tools("tools");
      return Opening{answer.text_or_none("instruction"), answer.text("observation")};
    });
  }

  Reaction step(const std::string& message) override {
    if (tools_.is_null()) return ask_step({{"method", "step"}, {"message", message}}, 0);
    const std::vector<std::optional<ToolCall>> attempts = calls_.read(message).attempts;
    Json calls = Json::array();
    std::vector<std::string> errors;  // by attempt; empty: it can be made
    for (const auto& attempt : attempts) {
      errors.push_back(error_of(attempt));
      if (errors.back().empty())
        calls.push_back({{"name", attempt->name}, {"arguments", parse_json(attempt->arguments, "arguments")}});
    }
    Json question{{"method", "step"}, {"message", message}};
    const size_t num_calls = calls.size();
    if (num_calls > 0) question["tool_calls"] = std::move(calls);
    Reaction reaction;
    if (num_calls > 0 || attempts.empty()) reaction = ask_step(question, num_calls);
    add_errors(reaction, errors);
    return reaction;
  }

  void close() override {
    if (child_) ask({{"method", "close"}}, [](const Answer&) { return true; });
  }

 private:
  /// Why a call is not asked, or "".
  std::string error_of(const std::optional<ToolCall>& call) const {
    if (!call) return "Error: this is no call: a name and an object of arguments were expected, as JSON";
    std::vector<std::string> names;
    for (const Json& tool : tools_) names.push_back(tool["function"]["name"].get<std::string>());
    if (std::ranges::find(names, call->name) != names.end()) return "";
    return fmt::format("Error: there is no tool {}; there is {}", call->name, fmt::join(names, ", "));
  }

  /// Errors in their places between the program's answers, and all counted.
  static void add_errors(Reaction& reaction, const std::vector<std::string>& errors) {
    reaction.tools = ToolCounts{.calls = std::ssize(errors)};
    if (reaction.is_done && reaction.answers.empty()) return;  // nothing follows
    std::vector<std::string> answers;
    auto next = reaction.answers.begin();
    for (const std::string& error : errors) answers.push_back(error.empty() ? *next++ : error);
    reaction.tools->errors =
        std::ranges::count_if(answers, [](const std::string& answer) { return answer.starts_with("Error:"); });
    if (!answers.empty()) reaction.observation = fmt::format("{}", fmt::join(answers, "\n"));
    reaction.answers = std::move(answers);
  }

  Reaction ask_step(const Json& question, size_t num_calls) {
    return ask(question, [&](const Answer& answer) {
      const bool has_answers = num_calls > 0 && (answer.has("answers") || !answer.flag("done"));
      return Reaction{.observation = num_calls > 0 ? answer.text_or_none("observation") : answer.text("observation"),
                      .reward = answer.reward("reward"),
                      .is_done = answer.flag("done"),
                      .is_valid = answer.flag_or_none("valid").value_or(true),
                      .succeeded = answer.flag_or_none("success"),
                      .answers = has_answers ? answer.texts("answers", num_calls) : std::vector<std::string>()};
    });
  }

  /// A program that fails is ended.
  template <class Read>
  std::invoke_result_t<Read, const Answer&> ask(const Json& question, const Read& read) {
    try {
      if (!child_) start();
      Json asked{{"id", ++id_}};
      asked.update(question);
      std::string line;
      const auto outcome = child_->ask(to_line(asked), args_.timeout_s, line);
      if (outcome != ChildProcess::Outcome::kDone) fail(outcome, line);
      return read(Answer(line, id_));
    } catch (const EnvironmentFailed& failure) {
      const std::string said = child_ ? child_->stderr_tail() : "";
      child_.reset();
      throw EnvironmentFailed(failure.fault,
                              said.empty() ? failure.what() : fmt::format("{}; it said: {}", failure.what(), said));
    }
  }

  void start() {
    try {
      child_.emplace(args_.command);
    } catch (const UserError& error) {
      throw EnvironmentFailed(EnvironmentFault::kCrash, fmt::format("could not be started: {}", error.what()));
    }
  }

  [[noreturn]] void fail(ChildProcess::Outcome outcome, const std::string& line) {
    using enum ChildProcess::Outcome;
    if (outcome == kTimeout)
      throw EnvironmentFailed(EnvironmentFault::kTimeout, fmt::format("no answer within {} s", args_.timeout_s));
    if (outcome == kEnded)
      throw EnvironmentFailed(EnvironmentFault::kCrash,
                              fmt::format("ended ({}) instead of answering", child_->end(kEndGrace_s)));
    if (outcome == kTooLong)
      throw EnvironmentFailed(EnvironmentFault::kFlood,
                              fmt::format("answered more than {} bytes without a newline", ChildProcess::kLongestLine));
    throw EnvironmentFailed(EnvironmentFault::kProtocol, fmt::format("printed {} without being asked", shown(line)));
  }

  EnvironmentArgs args_;
  ToolCallReader calls_;
  Json tools_ = nullptr;  // of the level
  std::optional<ChildProcess> child_;
  int64_t id_ = 0;
};

}  // namespace

void check_command(const EnvironmentArgs& args, const std::string& where) {
  try {
    check_executable(args.command.front());
  } catch (const UserError& error) {
    throw user_error("{}command = {}; give a program that is there and may be executed", where, error.what());
  }
}

std::unique_ptr<Environment> make_command_environment(const EnvironmentArgs& args, const std::string& where) {
  if (args.command.empty() || args.command[0].empty())
    throw user_error("{}command: missing; give the program and its arguments as a list", where);
  return std::make_unique<CommandEnvironment>(args, where);
}

}  // namespace roll
