#include "environment/command_player.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "environment/program_peer.h"
#include "environment/python_class.h"
#include "environment/remote_peer.h"
#include "process/python_name.h"

namespace roll {

namespace {

constexpr size_t kLongestObservation = 1 << 18;  // bytes
// Descriptors per program: input, output, errors, exit, and the pipe of its watcher or sandbox.
constexpr int64_t kDescriptorsPerProgram = 5;

/// Reads and checks the fields of an answer.
class Answer {
 public:
  Answer(std::string_view line, int64_t id) : line_(line) {
    try {
      json_ = parse_json(line, "answer");
    } catch (const UserError&) {
      fail(EnvironmentFault::kGarbage, "this is not a JSON object");
    }
    if (!json_.is_object()) fail(EnvironmentFault::kGarbage, "this is not a JSON object");
    if (json_.contains("id") && json_["id"] != id)
      fail(EnvironmentFault::kProtocol, fmt::format("id must be {}, as in the question", id));
  }

  bool has(const char* key) const { return json_.contains(key); }
  std::string text(const char* key) const { return checked_text(at(key), key); }
  std::string text_or_none(const char* key) const { return json_.contains(key) ? text(key) : ""; }
  bool flag(const char* key) const {
    const Json& value = at(key);
    if (!value.is_boolean()) fail(EnvironmentFault::kProtocol, fmt::format("{} must be true or false", key));
    return value.get<bool>();
  }
  std::optional<bool> flag_or_none(const char* key) const {
    return json_.contains(key) ? std::optional(flag(key)) : std::nullopt;
  }
  /// Reads a list of `count` texts, one per call.
  std::vector<std::string> texts(const char* key, size_t count) const {
    const Json& value = at(key);
    if (!value.is_array() || value.size() != count)
      fail(EnvironmentFault::kProtocol,
           fmt::format("{} must be a list of length {}, one text for each call", key, count));
    std::vector<std::string> texts;
    for (const Json& item : value) texts.push_back(checked_text(item, key));
    return texts;
  }
  /// Reads a list of {"type": "function", "function": {"name", ...}}; null if it is missing.
  Json tools(const char* key) const {
    if (!has(key)) return nullptr;
    const auto is_tool = [](const Json& item) {
      return item.is_object() && item.contains("function") && item["function"].is_object() &&
             item["function"].contains("name") && item["function"]["name"].is_string();
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
  std::string checked_text(const Json& value, const char* key) const {
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
    throw EnvironmentFailed(fault, fmt::format("answered {}: {}", shown_answer(line_), why));
  }

  std::string_view line_;
  Json json_;
};

}  // namespace

CommandPlayer::CommandPlayer(const EnvironmentArgs& args, const std::string& where, std::unique_ptr<LinePeer> peer)
    : args_(args), calls_(args.tool_calls, args.tool_pattern, where + "tool_pattern"), peer_(std::move(peer)) {}

void CommandPlayer::reset(uint64_t seed) {
  Json config = Json::object();
  for (const auto& [key, value] : args_.config) config[key] = value;
  ask(Method::kReset, {{"method", "reset"}, {"seed", seed}, {"config", std::move(config)}});
}

void CommandPlayer::step(const std::string& message) {
  errors_.clear();
  Json question{{"method", "step"}, {"message", message}};
  if (!tools_.is_null()) {
    std::vector<std::string> names;
    for (const Json& tool : tools_) names.push_back(tool["function"]["name"].get<std::string>());
    Json calls = Json::array();
    for (const auto& attempt : calls_.read(message, tools_).attempts) {
      const std::string fault = call_fault(attempt, names);
      errors_.push_back(fault.empty() ? "" : "Error: " + fault);
      if (fault.empty())
        calls.push_back({{"name", attempt->name}, {"arguments", parse_json(attempt->arguments, "arguments")}});
    }
    if (!calls.empty()) question["tool_calls"] = std::move(calls);
  }
  has_only_errors_ = !errors_.empty() && !question.contains("tool_calls");
  if (!has_only_errors_) ask(Method::kStep, question);
}

void CommandPlayer::close() {
  ask(Method::kClose, {{"method", "close"}});
}

void CommandPlayer::ask(Method method, const Json& question) {
  method_ = method;
  has_only_errors_ = false;
  Json line{{"id", ++id_}};
  line.update(question);
  peer_->begin(to_line(line), args_.timeout_s);
}

/// Inserts the errors between the program's answers, in call order, and counts both.
void CommandPlayer::add_errors(Reaction& reaction) const {
  reaction.tools = ToolCounts{.calls = std::ssize(errors_)};
  if (reaction.is_done && reaction.answers.empty()) return;  // nothing follows
  std::vector<std::string> answers;
  auto next = reaction.answers.begin();
  for (const std::string& error : errors_) answers.push_back(error.empty() ? *next++ : error);
  reaction.tools->errors =
      std::ranges::count_if(answers, [](const std::string& answer) { return answer.starts_with("Error:"); });
  if (!answers.empty()) reaction.observation = fmt::format("{}", fmt::join(answers, "\n"));
  reaction.answers = std::move(answers);
}

CommandAnswer CommandPlayer::read(const std::string& line) {
  const Answer answer(line, id_);
  if (method_ == Method::kClose) return std::monostate();
  if (method_ == Method::kReset) {
    tools_ = answer.tools("tools");
    return Opening{answer.text_or_none("instruction"), answer.text("observation")};
  }
  const bool is_done = answer.flag("done");
  const auto num_asked = static_cast<size_t>(std::ranges::count(errors_, ""));
  Reaction reaction{.observation = num_asked > 0 ? answer.text_or_none("observation") : answer.text("observation"),
                    .reward = answer.reward("reward"),
                    .is_done = is_done,
                    .is_valid = answer.flag_or_none("valid").value_or(true),
                    .succeeded = answer.flag_or_none("success")};
  if (num_asked > 0 && (answer.has("answers") || !is_done)) reaction.answers = answer.texts("answers", num_asked);
  if (!tools_.is_null()) add_errors(reaction);
  return reaction;
}

std::optional<CommandAnswer> CommandPlayer::advance() {
  if (std::exchange(has_only_errors_, false)) {
    Reaction errors;
    add_errors(errors);
    return errors;
  }
  const auto line = peer_->advance();
  if (!line) return std::nullopt;
  try {
    return read(*line);
  } catch (const EnvironmentFailed& failure) {
    const std::string stderr_text = peer_->drop();
    throw EnvironmentFailed(failure.fault, stderr_text.empty()
                                               ? failure.what()
                                               : fmt::format("{}; its error output: {}", failure.what(), stderr_text));
  }
}

BoxedProgram make_boxed_program(const EnvironmentArgs& args) {
  BoxedProgram program{.command = args.command};
  if (args.python_class)
    program.command = parse_python_name(*args.python_class, "python_class").command(args.python, python_class_text());
  program.memory_mb = args.memory_mb.value_or(program.memory_mb);
  return program;
}

std::unique_ptr<LinePeer> make_peer(const EnvironmentArgs& args, const std::string& where, int64_t number) {
  if (args.addresses.empty()) return make_program_peer(make_boxed_program(args), args.sandbox);
  return make_remote_peer(args.addresses[number % args.addresses.size()], where + "addresses");
}

int64_t num_descriptors(const EnvironmentArgs& args) {
  return args.world_size * (args.addresses.empty() ? kDescriptorsPerProgram : 1);
}

}  // namespace roll
