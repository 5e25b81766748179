// Environments of one's own, complete: a game of two turns, with a tool on request; and some that do what none should,
// for the tests that load them.
//
//   custom_envs:
//     Own: {env_type: plugin, env_config: {library: build/libmy_environments.so, name: game, config: {what: numbers}}}
#include <roll/environment.h>
#include <chrono>
#include <fstream>
#include <limits>
#include <thread>

namespace {

using Calls = std::vector<roll::EnvironmentCall>;

class Game : public roll::EnvironmentPlugin {
 public:
  explicit Game(const roll::EnvironmentSettings& settings)
      : what_(settings.text("what", "nothing")),
        most_(static_cast<int>(settings.number("most", 2))),
        has_tools_(settings.config.contains("tools")) {}

  roll::EnvironmentOpening reset(uint64_t seed) override {
    turns_ = 0;
    roll::EnvironmentOpening opening{.observation = "level " + std::to_string(seed % 100) + " of " + what_,
                                     .instruction = "play"};
    if (has_tools_)
      opening.tools = R"([{"type": "function", "function": {"name": "look", "description": "", "parameters": {}}}])";
    return opening;
  }

  roll::EnvironmentReaction step(const std::string& message, const Calls& calls) override {
    const bool is_done = ++turns_ == most_;
    const double reward = static_cast<double>(message.size() % 3);
    roll::EnvironmentReaction reaction{.reward = reward, .done = is_done, .valid = reward > 0, .success = reward > 1};
    for (const auto& [name, arguments] : calls) reaction.answers.push_back(name + " " + arguments);
    if (calls.empty()) reaction.observation = "turn " + std::to_string(turns_);
    return reaction;
  }

 private:
  const std::string what_;
  const int most_;
  const bool has_tools_;
  int turns_ = 0;
};

/// Does what its setting `how` says.
class Wrong : public roll::EnvironmentPlugin {
 public:
  explicit Wrong(const roll::EnvironmentSettings& settings) : how_(settings.text("how", "")) {
    if (how_ == "cannot be made") throw std::runtime_error("there is no board");
  }

  roll::EnvironmentOpening reset(uint64_t seed) override {
    if (how_ == "throws at reset") throw std::runtime_error("there is no level " + std::to_string(seed));
    if (how_ == "throws a number") throw 5;
    if (how_ == "bytes") return {.observation = "\xff"};
    if (how_ == "flood") return {.observation = std::string(300'000, 'x')};
    if (how_ == "tools in words") return {.observation = "o", .tools = "look"};
    if (how_ == "a tool without a name") return {.observation = "o", .tools = R"([{"function": {}}])"};
    return {.observation = "o", .tools = R"([{"function": {"name": "a"}}])"};
  }

  roll::EnvironmentReaction step(const std::string&, const Calls&) override {
    if (how_ == "throws at a step" && ++num_steps_ == 1) throw std::runtime_error("no such move");
    if (how_ == "nan") return {.observation = "o", .reward = std::numeric_limits<double>::quiet_NaN()};
    if (how_ == "infinite") return {.observation = "o", .reward = -std::numeric_limits<double>::infinity()};
    if (how_ == "too much") return {.observation = "o", .reward = 1e7};
    if (how_ == "says bytes") return {.observation = "\xc3"};
    if (how_ == "answers bytes") return {.answers = {"\xc3"}};
    if (how_ == "answers too much") return {.answers = {"1", "2"}};
    return {.observation = "p"};
  }

  void close() override {
    if (how_ == "throws at the end") throw std::runtime_error("it will not end");
  }

 private:
  const std::string how_;
  int num_steps_ = 0;
};

/// Waits until there is a file `gate`, at the place that `at` names; writes down what it does.
class Waiting : public roll::EnvironmentPlugin {
 public:
  explicit Waiting(const roll::EnvironmentSettings& settings) : settings_(settings) { note("made"); }
  ~Waiting() override {
    note("gone");
    wait("gone");
  }
  roll::EnvironmentOpening reset(uint64_t) override {
    note("reset");
    wait("reset");
    return {.observation = "o"};
  }
  roll::EnvironmentReaction step(const std::string& message, const Calls&) override {
    note("step");
    if (message == "throw") throw std::runtime_error("thrown");
    wait("step");
    return {.observation = "p"};
  }
  void close() override { note("close"); }

 private:
  void note(const char* what) const {
    std::ofstream(settings_.text("log", "/dev/null"), std::ios::app) << what << '\n';
  }
  void wait(const std::string& where) const {
    if (settings_.text("at", "") != where) return;
    while (!std::ifstream(settings_.text("gate", ""))) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  const roll::EnvironmentSettings settings_;
};

std::unique_ptr<roll::EnvironmentPlugin> nothing(const roll::EnvironmentSettings&) {
  return nullptr;
}

}  // namespace

ROLL_ENVIRONMENT(game, Game)
ROLL_ENVIRONMENT(wrong, Wrong)
ROLL_ENVIRONMENT(waiting, Waiting)

extern "C" const roll::EnvironmentExport roll_environment_too_new, roll_environment_other_library;
const roll::EnvironmentExport roll_environment_too_new{roll::kEnvironmentAbiVersion + 1, roll::kEnvironmentCxxAbi,
                                                       nothing};
const roll::EnvironmentExport roll_environment_other_library{roll::kEnvironmentAbiVersion, "libc++", nothing};
