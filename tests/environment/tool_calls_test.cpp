#include "environment/tool_calls.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/json.h"
#include "checkpoint/temporary_folder.h"
#include "text/tiny_tokenizer.h"
#include "text/tokenizer.h"

namespace roll {

namespace {

std::string words_of(const ContentAndCalls& parts) {
  std::string words = parts.content;
  for (const ToolCall& call : parts.calls) words += "|" + call.name + call.arguments;
  return words;
}

ToolCallForm form_named(const std::string& golden) {
  return golden == "llama3" ? ToolCallForm::kLlama3 : golden == "glm4" ? ToolCallForm::kGlm4 : ToolCallForm::kMarked;
}

Json calls_of(const ContentAndCalls& parts) {
  Json calls = Json::array();
  for (const ToolCall& call : parts.calls)
    calls.push_back({{"name", call.name}, {"arguments", parse_json(call.arguments, "")}});
  return calls;
}

const Json& golden() {
  static const Json json = read_json(ROLL_SOURCE_DIR "/tests/golden/text/tool_calls.json");
  return json;
}

std::string repeated(int times, const std::string& text) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
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
      {"<think>\nA <tool_call> helps: <tool_call>{\"name\":\"no\",\"arguments\":{}}</tool_call>\n</think>\n\n"
       "<tool_call>{\"name\":\"a\",\"arguments\":{}}</tool_call>",
       "<think>\nA <tool_call> helps: <tool_call>{\"name\":\"no\",\"arguments\":{}}</tool_call>\n</think>|a{}"},
      {"<tool_call>{\"name\":\"a\",\"arguments\":{\"x\":\"</think>\"}}</tool_call>", "|a{\"x\":\"</think>\"}"},
      {"<tool_call>{\"name\":\"a\",\"arguments\":{\"x\":\"</tool_call>\"}}</tool_call>", "|a{\"x\":\"</tool_call>\"}"},
      {"<tool_call>{\"name\":\"a\",\"arguments\":{\"x\":\"</tool_call>\"}} so</tool_call> b",
       "<tool_call>{\"name\":\"a\",\"arguments\":{\"x\":\"</tool_call>\"}} so</tool_call> b"},
      {"bad <tool_call>{</tool_call><tool_call>{\"name\":\"b\",\"arguments\":{}}</tool_call>",
       "bad <tool_call>{</tool_call>|b{}"},
  }));
  CHECK(words_of(split_tool_calls(text, ToolCallForm::kMarked, {})) == expected);
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
      {call + " and\n" + call, " and|add{\"x\":\"1\"}|add{\"x\":\"1\"}"},
      {"<tool_call><function=add><parameter=x>1</parameter> 2</parameter></function></tool_call> so",
       " so|add{\"x\":\"1</parameter> 2\"}"},
      {"<tool_call><function=add><parameter=x>1</parameter></function></tool_call> "
       "2</parameter></function></tool_call>" +
           call,
       "|add{\"x\":\"1</parameter></function></tool_call> 2\"}|add{\"x\":\"1\"}"},
      {call.substr(0, call.size() - 12), "|add{\"x\":\"1\"}"},  // cut before the end
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
  CHECK(words_of(split_tool_calls(text, ToolCallForm::kMarked, tools)) == expected);
}

TEST_CASE("each family's calls are read behind its mark, and what is none stays as it is", "[serve]") {
  const auto [text, expected] = GENERATE(table<std::string, std::string>({
      {"so [TOOL_CALLS] [{\"name\":\"a\",\"arguments\":{}}, {\"name\":\"b\",\"arguments\":{\"x\":\"]\"},\"id\":\"1\"}]",
       "so|a{}|b{\"x\":\"]\"}"},
      {"[TOOL_CALLS]a{\"x\":1} so", "so|a{\"x\":1}"},
      {"[TOOL_CALLS]a[CALL_ID]1b2[ARGS]{}[TOOL_CALLS]b[ARGS] {\"x\":[]}", "|a{}|b{\"x\":[]}"},
      {"[TOOL_CALLS][{\"name\":\"a\",\"arguments\":{}}, {\"name\":\"b\"}]",  // all of a list are calls, or none
       "[TOOL_CALLS][{\"name\":\"a\",\"arguments\":{}}, {\"name\":\"b\"}]"},
      {"[TOOL_CALLS][]", "[TOOL_CALLS][]"},
      {"[TOOL_CALLS][{\"name\":\"a\",\"arguments\":{}}", "[TOOL_CALLS][{\"name\":\"a\",\"arguments\":{}}"},
      {"[TOOL_CALLS]a[ARGS]{\"x\":", "[TOOL_CALLS]a[ARGS]{\"x\":"},
      {"[TOOL_CALLS]a[ARGS][1]", "[TOOL_CALLS]a[ARGS][1]"},
      {"[TOOL_CALLS]{}[TOOL_CALLS]a{}", "[TOOL_CALLS]{}|a{}"},
      {"[TOOL_CALLS", "[TOOL_CALLS"},
      {"<|tool_call|>[{\"name\":\"a\",\"arguments\":{\"x\":null}}]<|/tool_call|> so", " so|a{\"x\":null}"},
      {"<|tool_call|>{\"name\":\"a\",\"arguments\":{}}<|end_of_text|>", "<|end_of_text|>|a{}"},
      {"<|tool_call|>[{\"name\":\"a\",\"arguments\":{}}] so", "<|tool_call|>[{\"name\":\"a\",\"arguments\":{}}] so"},
      {"<|tool_call|>a{}<|/tool_call|>", "<|tool_call|>a{}<|/tool_call|>"},
      {"<|tool_call>call:a{x:<|\"|>}\n\"<|\"|>,y:[1,-2.5,{z:null}],b:true, c : word}<tool_call|>",
       "|a{\"x\":\"}\\n\\\"\",\"y\":[1,-2.5,{\"z\":null}],\"b\":true,\"c\":\"word\"}"},
      {"<|tool_call>call:a{}<tool_call|><|tool_call>call:b{<|\"|>true<|\"|>:False}<tool_call|>",
       "|a{}|b{\"true\":false}"},
      {"<|tool_call>call:a{x:<|\"|>1", "<|tool_call>call:a{x:<|\"|>1"},
      {"<|tool_call>call:a{x:1}} so<tool_call|>", "<|tool_call>call:a{x:1}} so<tool_call|>"},
      {"<|tool_call>call:a{x:[1}]<tool_call|>", "<|tool_call>call:a{x:[1}]<tool_call|>"},
      {"<|tool_call>call:{}<tool_call|>", "<|tool_call>call:{}<tool_call|>"},
      {"<|tool_call>a{}<tool_call|>", "<|tool_call>a{}<tool_call|>"},
      {"<start_function_call>call:a{x:<escape>1<escape>}<end_function_call>", "|a{\"x\":\"1\"}"},
      {"I. <function_calls>a(x='it\\'s \"so\"\\n', y=(1, None))\n b()</function_calls>",
       "I.|a{\"x\":\"it's \\\"so\\\"\\n\",\"y\":[1,null]}|b{}"},
      {"<function_calls>\na(x={'k': \"v)\", \"n\": 1e3}, y=True)\n</function_calls>",
       "|a{\"x\":{\"k\":\"v)\",\"n\":1000.0},\"y\":true}"},
      {"<function_calls>a(x='1\n2')</function_calls>", "|a{\"x\":\"1\\n2\"}"},
      {"<function_calls>a(true=1, None=2)</function_calls>", "|a{\"true\":1,\"None\":2}"},
      {"<|tool_call>call:a{1:2,true:3}<tool_call|>", "|a{\"1\":2,\"true\":3}"},
      {"<function_calls>a()", "|a{}"},
      {"<function_calls>a(1)</function_calls>", "<function_calls>a(1)</function_calls>"},
      {"<function_calls>a(x='1)</function_calls>", "<function_calls>a(x='1)</function_calls>"},
      {"<function_calls>a() or</function_calls>", "<function_calls>a() or</function_calls>"},
      {"<function_calls></function_calls>", "<function_calls></function_calls>"},
      {"<tool_call>[{\"name\":\"a\",\"arguments\":{}}]</tool_call>", "|a{}"},
      {"A [TOOL_CALLS]no{} thought</think>[TOOL_CALLS]a{}", "A [TOOL_CALLS]no{} thought</think>|a{}"},
  }));
  CHECK(words_of(split_tool_calls(text, ToolCallForm::kMarked, {})) == expected);
}

TEST_CASE("calls in GLM-4's form are the whole text, of tools that there are", "[serve]") {
  const Json tools = Json::parse(R"([{"function": {"name": "add"}}])");
  const auto [text, expected, attempts] = GENERATE(table<std::string, std::string, size_t>({
      {"add\n{\"a\": 1}", "|add{\"a\":1}", 1},
      {"\nadd\n{} add\n{\"a\":\"}\"}\n", "|add{}|add{\"a\":\"}\"}", 2},
      {"add\n{\"a\": 1} so", "add\n{\"a\": 1} so", 1},
      {"add\n{\"a\":", "add\n{\"a\":", 1},
      {"so: add\n{}", "so: add\n{}", 0},
      {"say\n{}", "say\n{}", 0},
      {"add {}", "add {}", 0},
      {"", "", 0},
  }));
  const ContentAndCalls parts = split_tool_calls(text, ToolCallForm::kGlm4, tools);
  CHECK(words_of(parts) == expected);
  CHECK(parts.attempts.size() == attempts);
}

TEST_CASE("calls are read as transformers' templates write them", "[serve]") {
  for (const Json& one : golden()["cases"]) {
    const std::string name = one["form"], said = one["said"], end = golden()["ends"][name];
    ToolCallReader reader(form_named(name), {}, "");
    const std::string turn = said.substr(0, said.size() - end.size());
    for (const std::string& text :
         {turn, said.substr(0, said.find_last_not_of('\n') + 1), name == "llama3" ? "<|python_tag|>" + turn : turn}) {
      INFO(name << ": " << text);
      const ContentAndCalls parts = reader.read(text, golden()["tools"]);
      if (text == turn) CHECK_THAT(parts.content, Catch::EndsWith(one["content"].get<std::string>()));
      CHECK(parts.content.find("look_up") == std::string::npos);
      CHECK(parts.attempts.size() == one["calls"].size());
      CHECK(FileJson(calls_of(parts)) == FileJson(one["calls"]));  // Gemma's template sorts keys
    }
  }
}

TEST_CASE("marks of calls stay in a text without special tokens, so that its calls are read", "[serve]") {
  const test::TemporaryFolder folder;
  write_tiny_tokenizer(
      folder.path(), {.words = {},
                      .more_special_tokens = {"<s>", "</s>", "<tool_call>", "</tool_call>", "[TOOL_CALLS]", "[CALL_ID]",
                                              "[ARGS]", "<|tool_call|>", "<|/tool_call|>", "<|tool_call>",
                                              "<tool_call|>", "<|\"|>", "<start_function_call>", "<end_function_call>",
                                              "<escape>", "<function_calls>", "</function_calls>", "<|python_tag|>"}});
  const Tokenizer tokenizer = Tokenizer::load(folder.path());
  for (const Json& one : golden()["cases"]) {
    INFO(one.dump());
    const std::vector<int64_t> ids = tokenizer.encode(one["said"].get<std::string>());
    std::string all = tokenizer.decode(ids);
    for (size_t at; (at = all.find("</s>")) != std::string::npos;) all.erase(at, 4);
    ToolCallReader reader(form_named(one["form"]), {}, "");
    const auto calls = [&](const std::string& text) { return calls_of(reader.read(text, golden()["tools"])); };
    CHECK(calls(tokenizer.decode(ids, /*skip_special=*/true)) == calls(all));
    CHECK(calls(all).size() == one["calls"].size());
  }
  CHECK(tokenizer.decode(tokenizer.encode("<s><|python_tag|>{}</s>"), true) == "<|python_tag|>{}");
}

TEST_CASE("no text of calls takes more than time linear in it", "[serve]") {
  constexpr int kDeep = 10'000, kMany = 100'000;
  const std::string big(1 << 20, 'x'), deep = repeated(kDeep, "{\"x\":") + "1" + repeated(kDeep, "}");
  std::string parameters;
  for (int i = 0; i < kMany; ++i) parameters += "<parameter=" + std::to_string(i) + ">1</parameter>";
  const Stopwatch timer;
  for (const auto& [text, num_calls] : std::vector<std::pair<std::string, size_t>>{
           {"<tool_call>{\"name\":\"a\",\"arguments\":{\"x\":\"" + big + "\"}}</tool_call>", 1},
           {"[TOOL_CALLS]a[ARGS]{\"x\":\"" + big + "\"}", 1},
           {"<|tool_call>call:a{x:<|\"|>" + big + "<|\"|>}<tool_call|>", 1},
           {"<function_calls>a(x='" + big + "')</function_calls>", 1},
           {"<tool_call><function=a><parameter=x>" + repeated(kMany, "</parameter>\n") +
                "</parameter></function></tool_call>",
            1},
           {"<tool_call>a<arg_key>x</arg_key><arg_value>" + repeated(kMany, "</arg_value></tool_call> ") +
                "</arg_value></tool_call>",
            1},
           {"<tool_call><function=a>" + repeated(kMany, "<parameter=x>1</parameter>") + "</function></tool_call>" + big,
            1},
           {"<tool_call><function=a>" + parameters + "</function></tool_call>", 0},
           {"<tool_call>{\"name\":\"a\",\"arguments\":" + deep + "}</tool_call>", 0},
           {"[TOOL_CALLS]a" + deep, 0},
           {"<|tool_call>call:a" + repeated(kDeep, "{x:") + repeated(kDeep, "}") + "<tool_call|>", 0},
           {"<function_calls>a" + repeated(kDeep, "(x=[") + repeated(kDeep, "])") + "</function_calls>", 0},
           {repeated(kMany, "<tool_call>{"), 0},
           {repeated(kMany, "[TOOL_CALLS]["), 0},
           {repeated(kMany, "<|tool_call>call:a{x:<|\"|>"), 0},
           {repeated(kMany, "<function_calls>a(x='"), 0},
           {repeated(kMany, "<tool_call><function=a><parameter=x>"), 0},
           {repeated(kMany, "<tool_call>a<arg_key>"), 0},
           {repeated(kMany, "<[<|") + "[TOOL_CALLS]a{}", 1},
           {repeated(kMany, "[TOOL_CALLS]a{}"), kMany},
           {repeated(kMany, "<tool_call>a</tool_call>"), kMany},
           {repeated(kMany, "<function_calls>a(x=1)</function_calls>"), kMany}}) {
    CAPTURE(text.substr(0, 60));
    CHECK(split_tool_calls(text, ToolCallForm::kMarked, {}).calls.size() == num_calls);
    size_t sure = 0;
    for (size_t length = 0; length < std::min<size_t>(text.size(), 20'000); ++length)
      sure = sure_content(std::string_view(text).substr(0, length), sure, ToolCallForm::kMarked);
  }
  for (const ToolCallForm form : {ToolCallForm::kLlama3, ToolCallForm::kGlm4})
    for (const std::string& text :
         {"{\"name\":\"a\",\"parameters\":" + deep + "}", repeated(kMany, "{"), "a\n" + deep, "a\n{\"x\":\"" + big})
      CHECK(split_tool_calls(text, form, {}).calls.empty());
  CHECK(timer.seconds() < 20);
}

TEST_CASE("what opens calls again and again costs a look for each of a few, and is content", "[serve]") {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "<tool_call>{";
  const ContentAndCalls parts = split_tool_calls(text, ToolCallForm::kMarked, {});
  CHECK(parts.content == text);
  CHECK(parts.attempts.size() <= 64);
}

TEST_CASE("of more calls than a turn may have the first are made", "[serve]") {
  std::string turn;
  for (int i = 0; i < 20; ++i) turn += "<tool_call>{\"name\":\"a\",\"arguments\":{}}</tool_call>";
  CHECK(ToolCallReader(ToolCallForm::kMarked, {}, "").read(turn, {}).attempts.size() == 16);
}

TEST_CASE("what is told of a growing text is never part of a call, and never taken back", "[serve]") {
  const auto [form, text] = GENERATE(table<ToolCallForm, std::string>({
      {ToolCallForm::kMarked, "I add. <tool> \n<tool_call>{\"name\":\"add\",\"arguments\":{}}</tool_call>"},
      {ToolCallForm::kMarked, "a < b <tool_callx> <tool_call>nothing"},
      {ToolCallForm::kMarked, " said"},
      {ToolCallForm::kMarked, "I add.\n\n<tool_call>\n<function=add>\n</function>\n</tool_call>"},
      {ToolCallForm::kMarked, "I add [it]. \n[TOOL_CALLS]add[ARGS]{}"},
      {ToolCallForm::kMarked, "a <|tool <|tool_calls <|tool_call>call:add{}<tool_call|>"},
      {ToolCallForm::kMarked, "a [TOOL_CALL]<function_calls>add()</function_calls>"},
      {ToolCallForm::kGlm4, "add\n{\"a\": 1}"},
      {ToolCallForm::kGlm4, "so\nI add"},
      {ToolCallForm::kGlm4, "so: I add"},
      {ToolCallForm::kLlama3, " {\"name\":\"add\",\"parameters\":{}}"},
      {ToolCallForm::kLlama3, " said {"},
      {ToolCallForm::kLlama3, "<|python_tag|>{\"name\":\"add\",\"parameters\":{}}"},
      {ToolCallForm::kLlama3, "<|python is a snake"},
  }));
  const std::string content = split_tool_calls(text, form, {}).content;
  size_t before = 0;
  for (size_t length = 0; length <= text.size(); ++length) {
    const size_t sure = sure_content(std::string_view(text).substr(0, length), before, form);
    CHECK(sure <= length);
    CHECK(sure >= before);
    CHECK(content.starts_with(text.substr(0, sure)));
    before = sure;
  }
  if (form == ToolCallForm::kMarked) CHECK(before > 0);
}

}  // namespace roll
