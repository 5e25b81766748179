#include "environment/tool_calls.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "base/json.h"

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
      {"<tool_call>{\"name\":\"a\",\"arguments\":{\"x\":\"</tool_call>\"}}</tool_call>", "|a{\"x\":\"</tool_call>\"}"},
      {"<tool_call>{\"name\":\"a\",\"arguments\":{\"x\":\"</tool_call>\"}} so</tool_call> b",
       "<tool_call>{\"name\":\"a\",\"arguments\":{\"x\":\"</tool_call>\"}} so</tool_call> b"},
      {"bad <tool_call>{</tool_call><tool_call>{\"name\":\"b\",\"arguments\":{}}</tool_call>",
       "bad <tool_call>{</tool_call>|b{}"},
  }));
  CHECK(words_of(split_tool_calls(text, ToolCallForm::kHermes, {})) == expected);
}

TEST_CASE("calls in Llama 3's form are the whole text", "[serve]") {
  const auto [text, expected] = GENERATE(table<std::string, std::string>({
      {"{\"name\": \"add\", \"parameters\": {\"a\": \"x;y\"}}", "|add{\"a\":\"x;y\"}"},
      {" {\"name\":\"a\",\"parameters\":{}}; {\"name\":\"b\",\"parameters\":{}} ", "|a{}|b{}"},
      {"{\"name\":\"a\",\"parameters\":{}} and more", "{\"name\":\"a\",\"parameters\":{}} and more"},
      {"{\"name\":\"a\"}", "{\"name\":\"a\"}"},
      {"{}", "{}"},
      {"", ""},
      {"<|python_tag|>{\"name\": \"a\", \"parameters\": {}}", "|a{}"},
      {" <|python_tag|> {\"name\":\"a\",\"parameters\":{}};{\"name\":\"b\",\"parameters\":{}}", "|a{}|b{}"},
      {"<|python_tag|>print(1)", "<|python_tag|>print(1)"},
  }));
  CHECK(words_of(split_tool_calls(text, ToolCallForm::kLlama3, {})) == expected);
}

TEST_CASE("behind Llama 3's mark, and where an object begins, a call is meant", "[serve]") {
  const auto attempts = [](const char* text) {
    return split_tool_calls(text, ToolCallForm::kLlama3, {}).attempts.size();
  };
  CHECK(attempts("<|python_tag|>print(1)") == 1);
  CHECK(attempts("{\"name\":") == 1);
  CHECK(attempts("print(1) <|python_tag|>") == 0);
}

TEST_CASE("calls between tags of their own are read, and what is none stays as it is", "[serve]") {
  const Json tools = Json::parse(R"([{"function": {"name": "add", "parameters": {"properties": {"n":
      {"type": "integer"}, "x": {"type": "string"}, "l": {"type": ["array", "null"]}, "f": {"type": "number"},
      "o": {"type": "object", "nullable": true}, "b": {"type": "boolean"}}}}}])");
  const std::string call = "<tool_call>\n<function=add>\n<parameter=x>\n1\n</parameter>\n</function>\n</tool_call>";
  const auto [text, expected] = GENERATE_REF(table<std::string, std::string>({
      {"so\n" + call, "so|add{\"x\":\"1\"}"},
      {call + "\n" + call + "<|im_end|>", "\n<|im_end|>|add{\"x\":\"1\"}|add{\"x\":\"1\"}"},
      {call + " and\n" + call + " so", " and\n so|add{\"x\":\"1\"}|add{\"x\":\"1\"}"},  // no value reaches so far
      {call.substr(0, call.size() - 12), "|add{\"x\":\"1\"}"},                          // cut before the end
      {call.substr(0, call.size() - 26), call.substr(0, call.size() - 26)},
      {"<tool_call><function=add><parameter=n>7</parameter></function></tool_call>", "|add{\"n\":7}"},
      {"<tool_call><function=add><parameter=n>7.0</parameter></function></tool_call>", "|add{\"n\":7}"},
      {"<tool_call><function=add><parameter=n>seven</parameter></function></tool_call>", "|add{\"n\":\"seven\"}"},
      {"<tool_call><function=add><parameter=f>1e3</parameter></function></tool_call>", "|add{\"f\":1000}"},
      {"<tool_call><function=add><parameter=l>None</parameter></function></tool_call>", "|add{\"l\":null}"},
      {"<tool_call><function=add><parameter=o>null</parameter></function></tool_call>", "|add{\"o\":null}"},
      {"<tool_call><function=add><parameter=o>[1]</parameter></function></tool_call>", "|add{\"o\":\"[1]\"}"},
      {"<tool_call><function=add><parameter=b>FALSE</parameter></function></tool_call>", "|add{\"b\":false}"},
      {"<tool_call><function=new><parameter=n>7</parameter><parameter=m>\"7\"</parameter></function></tool_call>",
       "|new{\"n\":7,\"m\":\"\\\"7\\\"\"}"},  // of no known type
      {"<tool_call><function=add></function></tool_call>", "|add{}"},
      {"<tool_call><function=a b></function></tool_call>", "<tool_call><function=a b></function></tool_call>"},
      {"<tool_call><function=add><parameter=n>7</function></tool_call>",
       "<tool_call><function=add><parameter=n>7</function></tool_call>"},
      {"<tool_call><function=add>x</function></tool_call>", "<tool_call><function=add>x</function></tool_call>"},
      {"<tool_call>add\n<arg_key>n</arg_key>\n<arg_value>7</arg_value>\n</tool_call>", "|add{\"n\":7}"},
      {"<tool_call>add<arg_key>x</arg_key><arg_value> \n</arg_value></tool_call>", "|add{\"x\":\" \\n\"}"},
      {"<tool_call>add</tool_call>", "|add{}"},
      {"<tool_call>add\n<arg_key>x</arg_key>\n<arg_value>7</arg_value>", "|add{\"x\":\"7\"}"},
      {"<tool_call>add", "<tool_call>add"},
      {"<tool_call>nothing</tool_call>", "<tool_call>nothing</tool_call>"},  // no such tool
      {"<tool_call>add <arg_key>x</arg_key></tool_call>", "<tool_call>add <arg_key>x</arg_key></tool_call>"},
  }));
  CHECK(words_of(split_tool_calls(text, ToolCallForm::kHermes, tools)) == expected);
}

TEST_CASE("calls are read as transformers' templates write them", "[serve]") {
  const Json golden = read_json(ROLL_SOURCE_DIR "/tests/golden/text/tool_calls.json");
  for (const Json& one : golden["cases"]) {
    const std::string said = one["said"];
    const bool is_llama3 = one["form"] == "llama3";
    ToolCallReader reader(is_llama3 ? ToolCallForm::kLlama3 : ToolCallForm::kHermes, {}, "");
    const std::string turn = said.substr(0, said.find_last_not_of('\n') + 1);
    const size_t end = turn.ends_with("|>") ? turn.rfind("<|") : turn.size();
    for (const std::string& text : {turn, turn.substr(0, end), is_llama3 ? "<|python_tag|>" + turn : turn}) {
      INFO(one["form"] << ": " << text);
      const SpokenAndCalled parts = reader.read(text, golden["tools"]);
      CHECK_THAT(parts.content, Catch::EndsWith(one["content"].get<std::string>()));
      CHECK(parts.content.find(one["content"].empty() ? "tool_call" : "look_up") == std::string::npos);
      CHECK(parts.attempts.size() == one["calls"].size());
      Json calls = Json::array();
      for (const ToolCall& call : parts.calls)
        calls.push_back({{"name", call.name}, {"arguments", parse_json(call.arguments, "")}});
      CHECK(calls == one["calls"]);
    }
  }
}

TEST_CASE("what opens calls again and again costs a look for each of a few, and is content", "[serve]") {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "<tool_call>{";
  const SpokenAndCalled parts = split_tool_calls(text, ToolCallForm::kHermes, {});
  CHECK(parts.content == text);
  CHECK(parts.attempts.size() <= 64);
}

TEST_CASE("of more calls than a turn may have the first are made", "[serve]") {
  std::string turn;
  for (int i = 0; i < 20; ++i) turn += "<tool_call>{\"name\":\"a\",\"arguments\":{}}</tool_call>";
  CHECK(ToolCallReader(ToolCallForm::kHermes, {}, "").read(turn, {}).attempts.size() == 16);
}

TEST_CASE("what is told of a growing text is never part of a call, and never taken back", "[serve]") {
  const auto [form, text] = GENERATE(table<ToolCallForm, std::string>({
      {ToolCallForm::kHermes, "I add. <tool> \n<tool_call>{\"name\":\"add\",\"arguments\":{}}</tool_call>"},
      {ToolCallForm::kHermes, "a < b <tool_callx> <tool_call>nothing"},
      {ToolCallForm::kHermes, " said"},
      {ToolCallForm::kHermes, "I add.\n\n<tool_call>\n<function=add>\n</function>\n</tool_call>"},
      {ToolCallForm::kLlama3, " {\"name\":\"add\",\"parameters\":{}}"},
      {ToolCallForm::kLlama3, " said {"},
      {ToolCallForm::kLlama3, "<|python_tag|>{\"name\":\"add\",\"parameters\":{}}"},
      {ToolCallForm::kLlama3, "<|python is a snake"},
  }));
  const std::string content = split_tool_calls(text, form, {}).content;
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
