#include "environment/tool_use.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "environment/action_text.h"
#include "environment/calculator.h"
#include "environment/config.h"
#include "environment/environment.h"
#include "environment/python_tool.h"
#include "environment/questions.h"
#include "environment/search_tool.h"
#include "environment/tool.h"
#include "environment/tool_calls.h"

namespace roll {

namespace {

constexpr const char* kToolRules =
    "Answer the question. You may call tools first. When you know the answer, write it as <answer>42</answer>.";

/// Data that all levels of a tag share.
struct Library {
  std::vector<Question> questions{};
  std::shared_ptr<const SearchIndex> documents{};
};

bool uses_tool(const EnvironmentArgs& args, ToolKind kind) {
  return std::ranges::find(args.tools, kind) != args.tools.end();
}

Library load_library(const EnvironmentArgs& args, const std::string& where) {
  if (args.tools.empty())
    throw user_error("{}tools: missing; give one or more of calculator, python and search", where);
  if (args.min_number > args.max_number)
    throw user_error("{}min_number = {}: is larger than max_number = {}; lower it", where, args.min_number,
                     args.max_number);
  Library library;
  try {
    if (args.questions) library.questions = load_questions(*args.questions);
  } catch (const UserError& e) {
    throw user_error("{}questions = {}", where, e.what());
  }
  if (!uses_tool(args, ToolKind::kSearch)) return library;
  if (!args.documents)
    throw user_error("{}documents: missing, but the tool search needs it; give a file of documents", where);
  try {
    library.documents = SearchIndex::load(*args.documents);
  } catch (const UserError& e) {
    throw user_error("{}documents = {}", where, e.what());
  }
  return library;
}

std::unique_ptr<Tool> make_tool(ToolKind kind, const EnvironmentArgs& args, const Library& library) {
  if (kind == ToolKind::kCalculator) return make_calculator();
  if (kind == ToolKind::kPython) return make_python_tool(args.python, args.timeout_s);
  return make_search_tool(library.documents, args.num_results, args.document_length);
}

class ToolUse : public Environment {
 public:
  ToolUse(const EnvironmentArgs& args, const std::string& where, std::shared_ptr<const Library> library)
      : args_(args),
        where_(where),
        library_(std::move(library)),
        action_text_(args.action_pattern, where),
        calls_(args.tool_calls, args.tool_pattern, where + "tool_pattern") {
    for (const ToolKind kind : args.tools) tools_.push_back(make_tool(kind, args, *library_));
    for (const auto& tool : tools_) schemas_.push_back(tool_schema(*tool));
  }

  std::unique_ptr<Environment> another() const override { return std::make_unique<ToolUse>(args_, where_, library_); }

  Json tools() const override { return args_.show_tools ? schemas_ : Json(); }

  Opening reset(uint64_t seed) override {
    question_ = choose_question(seed);
    return {args_.env_instruction.value_or(kToolRules), question_.text};
  }

  Reaction step(const std::string& message) override {
    const ContentAndCalls parts = calls_.read(message, schemas_);
    if (!parts.attempts.empty()) return answer_calls(parts);
    const auto answer = action_text_.find(parts.content);
    const bool is_right = answer && is_answer(*answer, question_.answer);
    return {.reward = is_right ? 1
                      : answer ? 0
                               : args_.format_penalty.value_or(0),
            .is_done = true,
            .is_valid = answer.has_value(),
            .succeeded = is_right,
            .tools = ToolCounts{}};
  }

 private:
  Question choose_question(uint64_t seed) const {
    const auto& questions = library_->questions;
    if (questions.empty()) return arithmetic_question(seed, args_.min_number, args_.max_number);
    const double uniform = random_uniform({.seed = seed, .purpose = Purpose::kEnvironment});
    return questions.at(static_cast<size_t>(uniform * static_cast<double>(questions.size())));
  }

  Reaction answer_calls(const ContentAndCalls& parts) {
    Reaction reaction{.succeeded = false, .tools = ToolCounts{}};
    for (const auto& attempt : parts.attempts) {
      ++reaction.tools->calls;
      try {
        reaction.answers.push_back(answer_call(attempt));
      } catch (const ToolError& e) {
        ++reaction.tools->errors;
        reaction.answers.push_back(std::string("Error: ") + e.what());
      }
    }
    reaction.observation = fmt::format("{}", fmt::join(reaction.answers, "\n"));
    return reaction;
  }

  std::string answer_call(const std::optional<ToolCall>& call) {
    std::vector<std::string> names;
    for (const auto& candidate : tools_) names.push_back(candidate->name());
    if (const std::string fault = call_fault(call, names); !fault.empty()) throw ToolError(fault);
    const auto tool = std::ranges::find(tools_, call->name, [](const auto& candidate) { return candidate->name(); });
    const Json arguments = parse_json(call->arguments, "arguments");
    const std::string argument_name = (*tool)->argument();
    if (!arguments.contains(argument_name) || !arguments[argument_name].is_string())
      throw ToolError(fmt::format("{} takes {}, a text", call->name, argument_name));
    if (arguments.size() > 1) throw ToolError(fmt::format("{} takes {} and nothing else", call->name, argument_name));
    return (*tool)->call(arguments[argument_name].get<std::string>());
  }

  EnvironmentArgs args_;
  std::string where_;
  std::shared_ptr<const Library> library_;
  ActionText action_text_;
  ToolCallReader calls_;
  std::vector<std::unique_ptr<Tool>> tools_;
  Json schemas_ = Json::array();
  Question question_;
};

}  // namespace

std::unique_ptr<Environment> make_tool_use(const EnvironmentArgs& args, const std::string& where) {
  return std::make_unique<ToolUse>(args, where, std::make_shared<const Library>(load_library(args, where)));
}

void check_tool_use(const EnvironmentArgs& args, const std::string& where) {
  if (uses_tool(args, ToolKind::kPython)) check_python_tool(args.python, where);
}

}  // namespace roll
