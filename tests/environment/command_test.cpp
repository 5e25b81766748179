#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "checkpoint/temporary_folder.h"
#include "environment/config.h"
#include "environment/environment.h"

namespace roll {
namespace {

std::unique_ptr<Environment> shell_environment(const std::string& script, double timeout_s = 20) {
  return Chosen<EnvironmentType>("command")->make({.command = {"sh", "-c", script}, .timeout_s = timeout_s}, "");
}

/// Why a reset and a step fail, or "".
std::string fault_of(Environment& environment, const char* said = "go") {
  try {
    environment.reset(1);
    environment.step(said);
    environment.close();
  } catch (const EnvironmentFailed& failure) {
    return std::string(name_of(failure.fault));
  }
  return "";
}

struct Way {
  const char* what;
  const char* script;
  const char* fault;

  /// Only what hangs is given too little time: elsewhere a busy machine must not look like a hang.
  double timeout_s() const { return std::string(fault) == "timeout" ? 0.3 : 20; }
};

constexpr const char* kBegins = R"(read q; echo '{"observation":"o"}'; read q; )";

}  // namespace

TEST_CASE("a program that plays by the rules is played with, and told what it has to know", "[environment]") {
  const auto environment = shell_environment(
      R"(while read q; do case "$q" in *reset*) echo '{"id":1,"observation":"one","instruction":"rules"}';;
         *step*) echo "{\"observation\":\"two\",\"reward\":0.5,\"done\":true,\"valid\":false,\"success\":true}";;
         *) echo '{}';; esac; done)");
  const Opening opening = environment->reset(7);
  CHECK(opening.observation == "one");
  CHECK(opening.instruction == "rules");
  const Reaction reaction = environment->step("left");
  CHECK(reaction.observation == "two");
  CHECK(reaction.reward == 0.5);
  CHECK(reaction.is_done);
  CHECK_FALSE(reaction.is_valid);
  CHECK(reaction.succeeded == true);
  environment->close();
}

TEST_CASE("tools that a program declares are called, and what cannot be called is answered without it",
          "[environment]") {
  // It answers each step that it is asked with how many it has been asked so far.
  const auto environment = shell_environment(
      R"(read q; echo '{"observation":"o","tools":[{"type":"function","function":{"name":"add"}},{"function":{"name":"sub"}}]}'
         n=0; while read q; do n=$((n + 1)); case "$q" in
         *'"tool_calls"'*'"sub"'*) echo "{\"answers\":[\"$n\",\"Error: no\"],\"reward\":0.5,\"done\":false}";;
         *'"tool_calls"'*'"end"'*) echo "{\"reward\":1,\"done\":true}";;
         *'"tool_calls"'*'"x":1'*) echo "{\"answers\":[\"$n\"],\"reward\":0,\"done\":false}";;
         *) echo "{\"observation\":\"$n\",\"reward\":0,\"done\":false}";; esac; done)");
  environment->reset(7);
  CHECK(environment->tools().size() == 2);
  const auto call = [](const std::string& name, const std::string& arguments) {
    return R"(<tool_call>{"name": ")" + name + R"(", "arguments": )" + arguments + "}</tool_call>";
  };
  const auto told = [&](const std::string& said) {
    const Reaction reaction = environment->step(said);
    std::string words = fmt::format("{}/{}:", reaction.tools->errors, reaction.tools->calls);
    for (const std::string& answer : reaction.answers) words += " " + answer;
    return words + (reaction.answers.empty() ? "" : "; ") + reaction.observation;
  };
  CHECK(told("said") == "0/0:1");
  CHECK(told(call("add", R"({"x":1})") + "<|im_end|>") == "0/1: 2; 2");
  CHECK(told(call("rm", "{}")) ==
        "1/1: Error: there is no tool rm; there is add, sub; Error: there is no tool rm; there is add, sub");
  const std::string all = told(call("add", "{}") + "<tool_call>no</tool_call>" + call("sub", "{}"));
  CHECK(all.starts_with("2/3: 3 Error: this is no call"));  // the program was not asked about rm
  CHECK(all.find("were expected Error: no; 3\nError: this is no call") != std::string::npos);
  const Reaction last = environment->step(call("add", R"({"x":"end"})"));
  CHECK(last.is_done);
  CHECK(last.answers.empty());
  CHECK(last.tools->calls == 1);
}

TEST_CASE("however a program misbehaves, it is a failure of its kind and nothing else", "[environment]") {
  constexpr Way kAtReset[] = {
      {"ends", "exit 3", "crash"},
      {"ends well", "exit 0", "crash"},
      {"reads and ends", "read q; exit 1", "crash"},
      {"is killed", "kill -9 $$", "crash"},
      {"faults", "kill -11 $$", "crash"},
      {"complains and ends", "echo no >&2; exit 1", "crash"},
      {"floods its errors and ends", "head -c 300000 /dev/zero >&2; exit 1", "crash"},
      {"hangs", "sleep 9", "timeout"},
      {"reads and hangs", "read q; sleep 9", "timeout"},
      {"stops in a line", R"(read q; printf '{"obs'; sleep 9)", "timeout"},
      {"floods its errors and hangs", "head -c 300000 /dev/zero >&2; sleep 9", "timeout"},
      {"talks", "read q; echo hello", "garbage"},
      {"says an empty line", "read q; echo", "garbage"},
      {"says a list", "read q; echo '[]'", "garbage"},
      {"says a number", "read q; echo 5", "garbage"},
      {"says null", "read q; echo null", "garbage"},
      {"says half an object", R"(read q; echo '{"observation":"o"')", "garbage"},
      {"says two objects", R"(read q; echo '{"observation":"o"}{}')", "garbage"},
      {"says NaN", R"(read q; echo '{"observation":NaN}')", "garbage"},
      {"says no UTF-8", R"(read q; printf '{"observation":"\377"}\n')", "garbage"},
      {"says bytes", R"(read q; printf '\001\002\377\n')", "garbage"},
      {"says zeros", R"(read q; printf '\000\000\n')", "garbage"},
      {"nests without end", R"(read q; printf '[%.0s' $(seq 400); echo)", "garbage"},
      {"floods", "read q; head -c 2000000 /dev/zero | tr '\\0' x", "flood"},
      {"says too much", R"(read q; printf '{"observation":"'; head -c 300000 /dev/zero | tr '\0' x; echo '"}')",
       "flood"},
      {"repeats itself without end", R"(read q; yes '{"observation":"o"}')", "protocol"},
      {"answers twice", R"(read q; printf '{"observation":"o"}\n{"observation":"o"}\n'; sleep 9)", "protocol"},
      {"answers another question", R"(read q; echo '{"id":7,"observation":"o"}')", "protocol"},
      {"answers with a name", R"(read q; echo '{"id":"1","observation":"o"}')", "protocol"},
      {"shows nothing", "read q; echo '{}'", "protocol"},
      {"shows a number", R"(read q; echo '{"observation":1}')", "protocol"},
      {"shows null", R"(read q; echo '{"observation":null}')", "protocol"},
      {"shows a list", R"(read q; echo '{"observation":["o"]}')", "protocol"},
      {"instructs in numbers", R"(read q; echo '{"observation":"o","instruction":1}')", "protocol"},
      {"declares nothing", R"(read q; echo '{"observation":"o","tools":[]}')", "protocol"},
      {"declares an object", R"(read q; echo '{"observation":"o","tools":{"name":"add"}}')", "protocol"},
      {"declares a name", R"(read q; echo '{"observation":"o","tools":["add"]}')", "protocol"},
      {"declares a tool without a name", R"(read q; echo '{"observation":"o","tools":[{"function":{}}]}')", "protocol"},
      {"declares a number's tool", R"(read q; echo '{"observation":"o","tools":[{"function":{"name":1}}]}')",
       "protocol"},
  };
  constexpr Way kAtStep[] = {
      {"ends", "exit 3", "crash"},
      {"is killed", "kill -9 $$", "crash"},
      {"hangs", "sleep 9", "timeout"},
      {"talks", "echo hello", "garbage"},
      {"says a list", "echo '[1]'", "garbage"},
      {"rewards more than a number holds", R"(echo '{"observation":"o","reward":1e999,"done":false}')", "garbage"},
      {"begins again", R"(echo '{"observation":"o"}')", "protocol"},
      {"shows nothing", R"(echo '{"reward":1,"done":false}')", "protocol"},
      {"gives no reward", R"(echo '{"observation":"o","done":true}')", "protocol"},
      {"rewards in words", R"(echo '{"observation":"o","reward":"1","done":true}')", "protocol"},
      {"rewards with null", R"(echo '{"observation":"o","reward":null,"done":true}')", "protocol"},
      {"rewards with true", R"(echo '{"observation":"o","reward":true,"done":true}')", "protocol"},
      {"rewards with a list", R"(echo '{"observation":"o","reward":[1],"done":true}')", "protocol"},
      {"rewards too much", R"(echo '{"observation":"o","reward":1e7,"done":true}')", "protocol"},
      {"punishes too much", R"(echo '{"observation":"o","reward":-1e7,"done":true}')", "protocol"},
      {"does not say whether it goes on", R"(echo '{"observation":"o","reward":1}')", "protocol"},
      {"is done by number", R"(echo '{"observation":"o","reward":1,"done":1}')", "protocol"},
      {"is done in words", R"(echo '{"observation":"o","reward":1,"done":"yes"}')", "protocol"},
      {"is valid in words", R"(echo '{"observation":"o","reward":1,"done":true,"valid":"no"}')", "protocol"},
      {"succeeds by number", R"(echo '{"observation":"o","reward":1,"done":true,"success":1}')", "protocol"},
      {"answers the question before", R"(echo '{"id":1,"observation":"o","reward":1,"done":true}')", "protocol"},
  };
  for (const Way& way : kAtReset) {
    INFO("at reset: " << way.what);
    CHECK(fault_of(*shell_environment(way.script, way.timeout_s())) == way.fault);
  }
  for (const Way& way : kAtStep) {
    INFO("at a step: " << way.what);
    CHECK(fault_of(*shell_environment(std::string(kBegins) + way.script, way.timeout_s())) == way.fault);
  }
  constexpr Way kAtCall[] = {
      {"answers no call", R"(echo '{"observation":"o","reward":1,"done":false}')", "protocol"},
      {"answers too few", R"(echo '{"answers":[],"reward":1,"done":false}')", "protocol"},
      {"answers too many", R"(echo '{"answers":["1","2"],"reward":1,"done":false}')", "protocol"},
      {"answers in numbers", R"(echo '{"answers":[1],"reward":1,"done":false}')", "protocol"},
      {"answers with a text", R"(echo '{"answers":"1","reward":1,"done":false}')", "protocol"},
      {"answers wrongly at the end", R"(echo '{"answers":["1","2"],"reward":1,"done":true}')", "protocol"},
      {"hangs", "sleep 9", "timeout"},
  };
  for (const Way& way : kAtCall) {
    INFO("at a call: " << way.what);
    const std::string declares = R"(read q; echo '{"observation":"o","tools":[{"function":{"name":"a"}}]}'; read q; )";
    CHECK(fault_of(*shell_environment(declares + way.script, way.timeout_s()),
                   R"(<tool_call>{"name": "a", "arguments": {}}</tool_call>)") == way.fault);
  }
  const auto closes = shell_environment(std::string(kBegins) +
                                        R"(echo '{"observation":"o","reward":1,"done":true}'; read q; echo bye)");
  CHECK(fault_of(*closes) == "garbage");
  CHECK(fault_of(*Chosen<EnvironmentType>("command")->make({.command = {"/no/such/program"}}, "")) == "crash");
}

TEST_CASE("a program that failed is started again at the next level, without what it had begun", "[environment]") {
  const test::TemporaryFolder folder;
  const std::string mark = (folder / "mark").string();
  const auto environment = shell_environment(
      "if [ ! -e " + mark + " ]; then touch " + mark + "; sleep 60 & exit 1; fi; " + std::string(kBegins) +
      R"(echo '{"observation":"o","reward":1,"done":true}'; read q; echo '{}'; read q)");
  CHECK(fault_of(*environment) == "crash");
  CHECK(fault_of(*environment) == "");
  try {
    shell_environment("echo what is wrong >&2; exit 4")->reset(1);
    FAIL("it ended");
  } catch (const EnvironmentFailed& failure) {
    CHECK(std::string(failure.what()) == "ended (exit status 4) instead of answering; it said: what is wrong\n");
  }
}

}  // namespace roll
