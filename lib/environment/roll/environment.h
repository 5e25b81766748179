// C++ API of the user's environments for `roll train`: include this header, derive a class from EnvironmentPlugin, and
// export it with ROLL_ENVIRONMENT.
//
//   #include <roll/environment.h>
//
//   using Calls = std::vector<roll::EnvironmentCall>;
//   struct Counting : roll::EnvironmentPlugin {  // the model must say a digit; a level has `most` turns
//     explicit Counting(const roll::EnvironmentSettings& settings) : most(int(settings.number("most", 3))) {}
//     roll::EnvironmentOpening reset(uint64_t seed) override {  // begins a level
//       turns = 0, digit = std::to_string(seed % 10);
//       return {.observation = "Say " + digit};
//     }
//     roll::EnvironmentReaction step(const std::string& message, const Calls&) override {  // the model's message
//       return {.observation = "Again", .reward = double(message == digit), .done = ++turns == most};
//     }
//     int most, turns = 0;
//     std::string digit;
//   };
//   ROLL_ENVIRONMENT(counting, Counting)
//
// Built as a shared library (find_package(roll) and roll_add_environment(mylib my_environment.cpp)) and named in the
// configuration:
//
//   custom_envs:
//     Count: {env_type: plugin, env_config: {library: build/libmylib.so, name: counting, config: {most: 5}}}
//
// An object plays one level at a time and is reused for later levels; there are as many objects as trajectories at
// once. `world_size` threads on each sampling rank create and call them, so a slow object holds no slot of the sampler.
// One thread at a time calls an object, but several objects run at once: data that they share must be thread-safe. The
// same seed and messages must give the same answers. A step cannot be interrupted, so timeout_s does not apply. An
// exception destroys the object and ends the level without a reward; the run counts such levels. A crash ends the run:
// untrusted code belongs in an `env_type: command`.
//
// The library must be built with the C++ compiler family that roll was built with.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace roll {

/// Version of the declarations below. roll loads only libraries with its own version.
constexpr uint32_t kEnvironmentAbiVersion = 1;

/// C++ standard library, which must be the same in roll and the user's library: strings and exceptions pass between
/// them.
#if defined(_LIBCPP_VERSION)
constexpr const char* kEnvironmentCxxAbi = "libc++";
#elif _GLIBCXX_USE_CXX11_ABI
constexpr const char* kEnvironmentCxxAbi = "libstdc++";
#else
constexpr const char* kEnvironmentCxxAbi = "libstdc++ with the ABI from before C++11";
#endif

/// The user's settings: the key `config` of env_config.
struct EnvironmentSettings {
  std::map<std::string, std::string> config;  // values as written in the configuration

  /// Returns a value; `fallback` if the key is missing.
  std::string text(const std::string& key, const std::string& fallback) const {
    const auto found = config.find(key);
    return found == config.end() ? fallback : found->second;
  }
  /// Returns a value as a number; `fallback` if the key is missing. Throws std::invalid_argument if it is not a number.
  double number(const std::string& key, double fallback) const {
    const auto found = config.find(key);
    if (found == config.end()) return fallback;
    size_t used = 0;
    double value = 0;
    try {
      value = std::stod(found->second, &used);
    } catch (const std::exception&) {
    }
    if (used == 0 || used != found->second.size())
      throw std::invalid_argument("config." + key + " = " + found->second + ": must be a number");
    return value;
  }
};

/// Beginning of a level. All texts must be UTF-8.
struct EnvironmentOpening {
  std::string observation{};
  std::string instruction{};  // shown once, before the first observation; may be empty
  /// Tools that the model may call, as JSON: [{"type": "function", "function": {"name", ...}}]. Empty: none.
  std::string tools{};
};

/// A valid call that the model made of one of the tools.
struct EnvironmentCall {
  std::string name;
  std::string arguments;  // text of a JSON object
};

/// The answer to a message. All texts must be UTF-8.
struct EnvironmentReaction {
  std::string observation{};
  double reward = 0;                   // for this turn; within +-1,000,000
  bool done = false;                   // the level is over
  bool valid = true;                   // the message held an action
  std::optional<bool> success{};       // true: the level is solved; unset: there are only rewards
  std::vector<std::string> answers{};  // one per call, shown instead of the observation; may be left out if `done`
};

/// Base class of the user's environments.
class EnvironmentPlugin {
 public:
  virtual ~EnvironmentPlugin() = default;
  /// Begins the level of this seed, even if the last one is not over.
  virtual EnvironmentOpening reset(uint64_t seed) = 0;
  /// Answers the model's message. `calls`: the valid tool calls in it; roll itself answers invalid ones.
  virtual EnvironmentReaction step(const std::string& message, const std::vector<EnvironmentCall>& calls) = 0;
  /// Ends a level that is not continued, whether it is over or not.
  virtual void close() {}
};

/// The symbol roll_environment_<name> of a library, defined by ROLL_ENVIRONMENT. The first two members must stay at
/// their offsets, so that every version of roll can read them.
struct EnvironmentExport {
  uint32_t abi_version;
  const char* cxx_abi;
  /// Creates an object of the class; may throw.
  std::unique_ptr<EnvironmentPlugin> (*make)(const EnvironmentSettings&);
};

}  // namespace roll

/// Makes a class available under `name` (a C identifier), the key `name` of env_config. The class needs a constructor
/// that takes const EnvironmentSettings&.
#define ROLL_ENVIRONMENT(name, Class)                                                                      \
  extern "C" __attribute__((visibility("default"))) const roll::EnvironmentExport roll_environment_##name; \
  const roll::EnvironmentExport roll_environment_##name{                                                   \
      roll::kEnvironmentAbiVersion, roll::kEnvironmentCxxAbi,                                              \
      [](const roll::EnvironmentSettings& settings) -> std::unique_ptr<roll::EnvironmentPlugin> {          \
        return std::make_unique<Class>(settings);                                                          \
      }};
