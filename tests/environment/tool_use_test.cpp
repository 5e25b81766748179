#include "environment/tool_use.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <functional>

#include "base/error.h"
#include "checkpoint/temporary_folder.h"
#include "environment/agent_text.h"
#include "environment/calculator.h"
#include "environment/config.h"
#include "environment/environment.h"
#include "environment/python_tool.h"
#include "environment/questions.h"
#include "environment/search_index.h"
#include "sandbox/box.h"

namespace roll {
namespace {

using Catch::Contains;

std::unique_ptr<Environment> made(EnvironmentArgs args) {
  if (args.tools.empty()) args.tools = {ToolKind::kCalculator};
  return make_tool_use(args, "env_config.");
}

std::string call(const std::string& expression) {
  return R"(<tool_call>{"name": "calculator", "arguments": {"expression": ")" + expression + R"("}}</tool_call>)";
}

std::string why(const std::function<void()>& action) {
  try {
    action();
  } catch (const ToolError& e) {
    return e.what();
  }
  return "nothing";
}

}  // namespace

TEST_CASE("the calculator computes as Python does, and says where it cannot", "[environment]") {
  const auto [expression, expected] = GENERATE(table<std::string, std::string>({
      {"37 * 49 + 12", "1825"},
      {"2 - 3 - 4", "-5"},
      {"-2 ** 2", "-4"},
      {"2 ** 3 ** 2", "512"},
      {"2 ** -1", "0.5"},
      {"-7 % 3", "2"},
      {"7 % -3", "-2"},
      {"(1 + 2) * (3 - 5) / 4", "-1.5"},
      {" 1e3/8 ", "125"},
      {"9007199254740991", "9007199254740991"},
  }));
  CHECK(calculate(expression) == expected);
  for (const char* wrong : {"", "1 +", "(1", "1 2", "two", "1 // 2", "inf", "nan", "2 ** 99999", "--", "0x10"})
    CHECK_THROWS_AS(calculate(wrong), ToolError);
  CHECK(why([] { calculate("3 + 4 x"); }) == "the expression is no arithmetic at character 7: x");
  CHECK(why([] { calculate("1 / (2 - 2)"); }) == "division by zero");
  CHECK(why([] { calculate(std::string(5000, '(')); }) == "the expression is nested too deeply");
}

TEST_CASE("a search finds rare words before common ones, and short documents before long ones", "[environment]") {
  const SearchIndex index({"the cat and the dog and the bird", "the dog", "a Zebra and the dog", "fish", "the cat"});
  CHECK(index.find("dog", 9) == std::vector<int64_t>{1, 2, 0});
  CHECK(index.find("the ZEBRA?", 1) == std::vector<int64_t>{2});
  CHECK(index.find("cat fish", 2) == std::vector<int64_t>{3, 4});
  CHECK(index.find("whale", 2).empty());
  CHECK(SearchIndex({"a x", "a y", "a z", "b u v w"}).find("a b", 1) == std::vector<int64_t>{3});
}

TEST_CASE("calls are answered one after the other, bad ones by an error, and the answer ends the level",
          "[environment]") {
  const auto tools = made({.min_number = 10, .max_number = 99});
  const std::string question = tools->reset(4).observation;
  CHECK(question == tools->reset(4).observation);
  CHECK(question != tools->reset(6).observation);
  const std::string sum = question.substr(8, question.size() - 9);
  tools->reset(4);
  const Reaction both = tools->step("I ask.\n" + call(sum) + "\n" + call("1 /") + "<|im_end|>");
  CHECK(both.answers == std::vector<std::string>{calculate(sum), "Error: the expression ends too early"});
  CHECK_FALSE(both.is_done);
  CHECK(both.tools->calls == 2);
  CHECK(both.tools->errors == 1);
  for (const auto& [said, told] : std::vector<std::pair<std::string, std::string>>{
           {"<tool_call>nothing</tool_call>", "Error: this is no call"},
           {R"(<tool_call>{"name": "rm", "arguments": {}}</tool_call>)",
            "Error: there is no tool rm; there is calculator"},
           {R"(<tool_call>{"name": "calculator", "arguments": {}}</tool_call>)", "Error: calculator takes expression"},
           {R"(<tool_call>{"name": "calculator", "arguments": {"expression": 3}}</tool_call>)",
            "Error: calculator takes"},
           {R"(<tool_call>{"name": "calculator", "arguments": {"expression": "3", "x": 1}}</tool_call>)",
            "nothing else"},
           {"<tool_call>", "Error: this is no call"}}) {
    const Reaction reaction = tools->step(said);
    CAPTURE(said);
    REQUIRE(reaction.answers.size() == 1);
    CHECK_THAT(reaction.answers[0], Contains(told));
    CHECK(reaction.tools->errors == 1);
    CHECK_FALSE(reaction.is_done);
  }
  const Reaction right = tools->another()->reset(4).observation == question
                             ? tools->step("<answer> " + both.answers[0] + "</answer>")
                             : Reaction();
  CHECK(right.is_done);
  CHECK(right.succeeded == true);
  CHECK(right.reward == 1);
}

TEST_CASE("a wrong answer earns nothing, none costs the penalty, and both end the level", "[environment]") {
  const auto tools = made({.format_penalty = -0.5});
  tools->reset(1);
  const Reaction wrong = tools->step("<answer>123456</answer>"), none = tools->step("I do not know");
  CHECK(wrong.is_done);
  CHECK(wrong.is_valid);
  CHECK(wrong.reward == 0);
  CHECK(wrong.succeeded == false);
  CHECK(none.is_done);
  CHECK_FALSE(none.is_valid);
  CHECK(none.reward == -0.5);
  CHECK(is_answer(" 1,813 ", "1813.0"));
  CHECK(is_answer("Paris", "paris"));
  CHECK_FALSE(is_answer("", "0"));
}

TEST_CASE("calls in Llama 3's form, and in one of one's own", "[environment]") {
  const auto llama = made({.tool_calls = ToolCallForm::kLlama3});
  llama->reset(1);
  const std::string one = R"({"name": "calculator", "parameters": {"expression": "1 + 1"}})";
  CHECK(llama->step("<|python_tag|>" + one + "; " + one + "<|eom_id|>").answers == std::vector<std::string>{"2", "2"});
  CHECK_THAT(llama->step("{\"name\": ").answers.at(0), Contains("Error"));
  const auto own = made({.tool_pattern = R"(CALL (\w+)(\{.*?\}))"});
  own->reset(1);
  const Reaction reaction = own->step(R"(CALL calculator{"expression": "2*3"} CALL calculator{1} CALL x{})");
  REQUIRE(reaction.answers.size() == 3);
  CHECK(reaction.answers[0] == "6");
  CHECK(reaction.tools->errors == 2);
  CHECK(own->step(call("1 + 1")).answers.empty());
  const auto empty = made({.tool_pattern = "(x?)(y?)"});  // which matches nothing everywhere
  empty->reset(1);
  CHECK(empty->step("nothing").is_done);
}

TEST_CASE("answers of tools have the names of those that were called", "[environment]") {
  const auto tools = made({});
  tools->reset(1);
  const std::string said = R"([TOOL_CALLS]calculator[ARGS]{"expression": "1 + 1"}[TOOL_CALLS]rm{}[TOOL_CALLS]x)";
  const Reaction reaction = tools->step(said);
  CHECK(reaction.answers.size() == 3);
  CHECK(reaction.tools->errors == 2);
  const auto names = [&](const Json& schemas) {
    std::vector<std::string> names;
    for (const Json& message : messages_between({}, reaction, 1, said, schemas))
      names.push_back(message.value("role", "") + ":" + message.value("name", "none"));
    return names;
  };
  CHECK(names(tools->tools()) == std::vector<std::string>{"tool:calculator", "tool:none", "tool:none"});
  CHECK(names(nullptr) == std::vector<std::string>{"tool:none", "tool:none", "tool:none"});
}

TEST_CASE("tools are described for the template, unless the model knows them", "[environment]") {
  const Json schemas = made({})->tools();
  REQUIRE(schemas.size() == 1);
  CHECK(schemas[0]["function"]["name"] == "calculator");
  CHECK(schemas[0]["function"]["parameters"]["required"] == Json::array({"expression"}));
  CHECK(made({.show_tools = false})->tools().is_null());
}

TEST_CASE("a search environment asks questions of a file, and finds documents of another", "[environment]") {
  const test::TemporaryFolder folder;
  const auto file = [&](const char* name, const std::string& text) {
    std::ofstream(folder.path() / name) << text;
    return (folder.path() / name).string();
  };
  EnvironmentArgs args{.tools = {ToolKind::kSearch},
                       .questions = file("q", R"({"question": "Where is the zebra?", "answer": "in Rome"})"),
                       .documents = file("d",
                                         "{\"title\": \"Zebra\", \"text\": \"It is in Rome, ever since.\"}\n"
                                         "{\"text\": \"Nothing.\"}"),
                       .document_length = 21};
  const auto tools = make_tool_use(args, "env_config.");
  CHECK(tools->reset(3).observation == "Where is the zebra?");
  const auto asked = [](const char* query) {
    return std::string(R"(<tool_call>{"name": "search", "arguments": {"query": ")") + query + R"("}}</tool_call>)";
  };
  CHECK(tools->step(asked("zebra")).answers == std::vector<std::string>{"Zebra\nIt is in Rome, ..."});
  CHECK_THAT(tools->step(asked("whale")).answers.at(0), Contains("Error: no document"));
  CHECK(tools->step("<answer>In Rome</answer>").succeeded == true);

  const auto refused = [&](const EnvironmentArgs& wrong) {
    return test::message_of([&] { make_tool_use(wrong, "env_config."); });
  };
  CHECK_THAT(refused({}), Contains("env_config.tools: missing"));
  CHECK_THAT(refused({.tools = {ToolKind::kSearch}}), Contains("env_config.documents: missing"));
  args.documents = file("bad", "{\"text\": 3}");
  CHECK_THAT(refused(args), Contains("bad:1: text = 3: must be a text"));
  args.questions = file("none", "{\"question\": \"x\"}");
  CHECK_THAT(refused(args), Contains("none:1: answer = (missing)"));
  args.questions = "/nowhere";
  CHECK_THAT(refused(args), Contains("env_config.questions = /nowhere: cannot be read"));
  CHECK_THAT(refused({.tools = {ToolKind::kPython}, .tool_pattern = "(a)"}), Contains("needs two groups"));
}

TEST_CASE("Python runs in the sandbox, and its failures are the tool's errors", "[environment]") {
  if (const auto reason = why_not_isolated("python3")) {
    WARN("not tried: this machine cannot isolate programs: " << *reason);
    return;
  }
  CHECK_THAT(test::message_of([] { check_python_tool("no-python", "env_config."); }),
             Contains("env_config.python = no-python: cannot be started"));
  const auto python = make_python_tool("python3", 60);
  CHECK(python->call("print(37 * 49)") == "1813\n");
  CHECK(python->call("x = 1") == "(the program printed nothing)");
  CHECK_THAT(why([&] { python->call("1 / 0"); }), Contains("ZeroDivisionError"));
  CHECK_THAT(why([&] { python->call("def"); }), Contains("SyntaxError"));
  CHECK_THAT(why([&] { make_python_tool("python3", 0.3)->call("while True: pass"); }), Contains("longer than 0.3 s"));
  CHECK(python->call("print('a' * 9000)").size() < 4100);
}

}  // namespace roll
