#include "environment/plugin.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "environment/config.h"
#include "environment/environment.h"
#include "error_of.h"

namespace roll {
namespace {

using testing::error_of;

std::unique_ptr<Environment> plugin(const std::string& name, std::map<std::string, std::string> config = {},
                                    const std::string& library = ROLL_TEST_ENVIRONMENTS) {
  return make_plugin_environment({.library = library, .name = name, .config = std::move(config)}, "env_config.");
}

/// How a level fails whose first message is `said`, as "kind: what", or "".
std::string reward_failure(Environment& environment, const char* said = "go") {
  try {
    environment.reset(7);
    environment.step(said);
    environment.close();
  } catch (const EnvironmentFailed& failure) {
    return fmt::format("{}: {}", enum_name(failure.fault), failure.what());
  }
  return "";
}

constexpr const char* kCall = R"(<tool_call>{"name": "a", "arguments": {}}</tool_call>)";

}  // namespace

TEST_CASE("a plug-in is played as a program is", "[environment]") {
  const auto environment = plugin("game", {{"what", "it"}, {"tools", "yes"}, {"most", "3"}});
  const Opening opening = environment->reset(342);
  CHECK(opening.observation == "level 42 of it");
  CHECK(opening.instruction == "play");
  REQUIRE(environment->tools().size() == 1);
  Reaction reaction = environment->step("12345");
  CHECK(reaction.observation == "turn 1");
  CHECK(reaction.reward == 2);
  CHECK(reaction.succeeded == true);
  CHECK(reaction.is_valid);
  CHECK_FALSE(reaction.is_done);
  CHECK(reaction.tools->calls == 0);
  reaction = environment->step(
      R"(<tool_call>{"name": "look", "arguments": {"at": ["x"]}}</tool_call><tool_call>no</tool_call>)");
  REQUIRE(reaction.answers.size() == 2);
  CHECK(reaction.answers[0] == R"(look {"at":["x"]})");
  CHECK(reaction.answers[1].starts_with("Error: this is no call"));
  CHECK(reaction.tools->errors == 1);
  reaction = environment->step("123");
  CHECK(reaction.is_done);
  CHECK_FALSE(reaction.is_valid);
  CHECK(reaction.succeeded == false);
  environment->close();
  CHECK(environment->another()->reset(1).observation == "level 1 of it");
}

TEST_CASE("whatever a plug-in does wrong, it is a failure of its kind, and the next level is played", "[environment]") {
  const auto fault = [](const char* how, const char* said = "go") {
    return reward_failure(*plugin("wrong", {{"how", how}}), said);
  };
  CHECK(fault("") == "");
  CHECK(fault("cannot be made") == "crash: threw at reset: there is no board");
  CHECK(fault("throws at reset") == "crash: threw at reset: there is no level 7");
  CHECK(fault("throws a number") == "crash: threw at reset: an exception that is not a std::exception");
  CHECK(fault("throws at the end") == "crash: threw at close: it will not end");
  CHECK(fault("bytes") == "garbage: gave an observation that is not UTF-8");
  CHECK(fault("flood").starts_with("flood: answered "));
  CHECK(fault("tools in words").starts_with("garbage: tools:"));
  CHECK(fault("a tool without a name").starts_with("protocol: answered "));
  CHECK(fault("nan") == "protocol: gave the reward nan, which is not a finite number");
  CHECK(fault("infinite") == "protocol: gave the reward -inf, which is not a finite number");
  CHECK(fault("too much").find("reward must be a number within") != std::string::npos);
  CHECK(fault("says bytes") == "garbage: gave an observation that is not UTF-8");
  CHECK(fault("answers bytes", kCall) == "garbage: gave an answer that is not UTF-8");
  CHECK(fault("answers too much", kCall).find("answers must be a list of length 1, one text for each call") !=
        std::string::npos);
  CHECK(fault("", kCall).find("answers is missing") != std::string::npos);
  CHECK(reward_failure(*plugin("game", {{"most", "many"}})) ==
        "crash: threw at reset: config.most = many: must be a number");
  const auto fails = plugin("wrong", {{"how", "throws at a step"}});
  for (int i = 0; i < 2; ++i)
    CHECK(reward_failure(*fails) == "crash: threw at step: no such move");  // another object each
}

TEST_CASE("a plug-in that cannot be loaded is found out", "[environment]") {
  const auto error = [](const std::string& name, const std::string& library = ROLL_TEST_ENVIRONMENTS) {
    const auto environment = plugin(name, {}, library);
    return error_of([&] { environment->prepare(); });
  };
  CHECK(error("game") == "no error");
  CHECK(error("absent").find("has no symbol roll_environment_absent; write ROLL_ENVIRONMENT(absent, class) there") !=
        std::string::npos);
  CHECK(error("too_new").find("built for version 2 of roll/environment.h, but this program has version 1") !=
        std::string::npos);
  CHECK(error("other_library").find("built with libc++, but this program with libstdc++") != std::string::npos);
  CHECK(error("game", "/no/such.so").starts_with("env_config.library = /no/such.so: no such file"));
  CHECK(error("game", "/proc/self/exe").find("cannot be loaded") != std::string::npos);
  CHECK(error_of([] { plugin(""); }).find("env_config.name: missing") == 0);
  CHECK(error_of([] { plugin("game", {}, ""); }).find("env_config.library: missing") == 0);
  const EnvironmentArgs absent{.library = ROLL_TEST_ENVIRONMENTS, .name = "absent"};
  CHECK(error_of([&] { check_plugin_environment(absent, ""); }).find("no symbol roll_environment_absent") !=
        std::string::npos);
  CHECK(error_of([] { plugin("absent")->reset(1); }).find("no symbol") != std::string::npos);
}

}  // namespace roll
