#include "environment/tool_calls.h"

#include <catch2/catch.hpp>

namespace roll {

namespace {

std::string words_of(const SpokenAndCalled& parts) {
  std::string words = parts.content;
  for (const ToolCall& call : parts.calls) words += "|" + call.name + call.arguments;
  return words;
}

}  // namespace

TEST_CASE("calls in Hermes' form are taken out of the text, whatever stands around them", "[serve]") {
  const auto [text, expected] = GENERATE(table<std::string, std::string>({
      {"no call", "no call"},
      {"<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n</tool_call>", "|add{\"a\":1}"},
      {"I "
       "add.\n<tool_call>{\"name\":\"add\",\"arguments\":{}}</"
       "tool_call>\n<tool_call>{\"name\":\"b\",\"arguments\":{\"x\":\"</t\"}}"
       "</tool_call>",
       "I add.|add{}|b{\"x\":\"</t\"}"},
      {"<tool_call>{\"name\":\"add\",\"arguments\":{}}", "|add{}"},  // cut before the end
      {"<tool_call>{\"name\":\"add\",\"parameters\":{}}</tool_call>", "|add{}"},
      {"<tool_call>{\"name\":3,\"arguments\":{}}</tool_call>", "<tool_call>{\"name\":3,\"arguments\":{}}</tool_call>"},
      {"<tool_call>{\"name\":\"add\",\"arguments\":[1]}</tool_call> x",
       "<tool_call>{\"name\":\"add\",\"arguments\":[1]}</tool_call> x"},
      {"a <tool_call>add(1)</tool_call> b", "a <tool_call>add(1)</tool_call> b"},
      {"a <tool_call>", "a <tool_call>"},
      {"bad <tool_call>{</tool_call><tool_call>{\"name\":\"b\",\"arguments\":{}}</tool_call>",
       "bad <tool_call>{</tool_call>|b{}"},
  }));
  CHECK(words_of(split_tool_calls(text, ToolCallForm::kHermes)) == expected);
}

TEST_CASE("calls in Llama 3's form are the whole text", "[serve]") {
  const auto [text, expected] = GENERATE(table<std::string, std::string>({
      {"{\"name\": \"add\", \"parameters\": {\"a\": \"x;y\"}}", "|add{\"a\":\"x;y\"}"},
      {" {\"name\":\"a\",\"parameters\":{}}; {\"name\":\"b\",\"parameters\":{}} ", "|a{}|b{}"},
      {"{\"name\":\"a\",\"parameters\":{}} and more", "{\"name\":\"a\",\"parameters\":{}} and more"},
      {"{\"name\":\"a\"}", "{\"name\":\"a\"}"},
      {"{}", "{}"},
      {"", ""},
  }));
  CHECK(words_of(split_tool_calls(text, ToolCallForm::kLlama3)) == expected);
}

TEST_CASE("what is told of a growing text is never part of a call, and never taken back", "[serve]") {
  const auto [form, text] = GENERATE(table<ToolCallForm, std::string>({
      {ToolCallForm::kHermes, "I add. <tool> \n<tool_call>{\"name\":\"add\",\"arguments\":{}}</tool_call>"},
      {ToolCallForm::kHermes, "a < b <tool_callx> <tool_call>nothing"},
      {ToolCallForm::kHermes, " said"},
      {ToolCallForm::kLlama3, " {\"name\":\"add\",\"parameters\":{}}"},
      {ToolCallForm::kLlama3, " said {"},
  }));
  const std::string content = split_tool_calls(text, form).content;
  size_t before = 0;
  for (size_t length = 0; length <= text.size(); ++length) {
    const size_t sure = sure_content(std::string_view(text).substr(0, length), form);
    CHECK(sure <= length);
    CHECK(sure >= before);
    CHECK(content.starts_with(text.substr(0, sure)));
    before = sure;
  }
  if (form == ToolCallForm::kHermes) CHECK(before > 0);
}

}  // namespace roll
