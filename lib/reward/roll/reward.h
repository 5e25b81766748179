// Public header for reward plug-ins of `roll train` and `roll score`: write a function and one line that names it.
//
//   #include <roll/reward.h>
//
//   static roll::RewardOutput short_and_right(const roll::RewardContext& c) {
//     const bool is_right = c.response().find(c.ground_truth()) != std::string::npos;
//     return {.reward = is_right - c.number("per_token", 0) * c.num_response_tokens(), .score = double(is_right)};
//   }
//   ROLL_REWARD(short_and_right, short_and_right)
//
// Build it as a shared library (find_package(roll) and roll_add_reward(mylib my_reward.cpp)) and name it in the
// configuration:
//
//   rewards:
//     math: {type: plugin, library: build/libmylib.so, name: short_and_right, args: {per_token: 0.001}}
//
// The function is called once per response, from `world_size` threads at once, so it must be thread-safe. It cannot be
// interrupted: timeout_s does not apply. For a response that it cannot judge it throws an exception, whose text is
// reported; the key on_reward_error decides how the response counts. A crash ends the run: use `type: command` for code
// that may crash.
//
// The library must be built with the C++ compiler family that roll was built with.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace roll {

/// Increased when the declarations below change.
constexpr uint32_t kRewardAbiVersion = 1;

/// The C++ standard library ABI, on which std::string and exceptions across the boundary depend.
#if defined(_LIBCPP_VERSION)
constexpr const char* kRewardCxxAbi = "libc++";
#elif _GLIBCXX_USE_CXX11_ABI
constexpr const char* kRewardCxxAbi = "libstdc++";
#else
constexpr const char* kRewardCxxAbi = "libstdc++ with the ABI from before C++11";
#endif

/// The function's result.
struct RewardOutput {
  double reward = 0;  // number that training maximises; finite, within +-1,000,000
  double score = 0;   // verdict for metrics: 1 is right, 0 is wrong; finite, within +-1,000,000
  std::vector<std::pair<std::string, std::string>> detail{};  // (name, text): reasons, recorded with the response
};

/// The response to score. It is valid only during the call, and so are the references that its members return. Texts
/// are UTF-8, but a response may have invalid bytes.
class RewardContext {
 public:
  virtual ~RewardContext() = default;

  virtual const std::string& prompt() const = 0;
  virtual const std::string& response() const = 0;
  virtual const std::string& ground_truth() const = 0;   // column of the data row; "" if missing
  virtual const std::string& tag() const = 0;            // column of the data row; "" if missing
  virtual const std::string& domain() const = 0;         // "math" for the configuration rewards.math
  virtual const std::string& finish_reason() const = 0;  // "stop", "length", "stop_string" or "abort"
  virtual int64_t num_response_tokens() const = 0;       // generated tokens, in all turns

  /// Returns any column of the data row: a string as its text, other types as JSON text; nullopt if it is missing or
  /// null.
  virtual std::optional<std::string> column(const std::string& name) const = 0;

  /// Returns the value of a key in the configuration's `args`, as text; nullopt if it is missing.
  virtual std::optional<std::string> arg(const std::string& key) const = 0;

  // ---- convenience functions

  /// Returns the value of a key in `args` as a number; `fallback` if it is missing. Throws std::invalid_argument if the
  /// text is not a number.
  double number(const std::string& key, double fallback) const {
    const auto text = arg(key);
    if (!text) return fallback;
    size_t used = 0;
    double value = 0;
    try {
      value = std::stod(*text, &used);
    } catch (const std::exception&) {
    }
    if (used == 0 || used != text->size())
      throw std::invalid_argument("args." + key + " = " + *text + ": must be a number");
    return value;
  }
};

/// The object that a library exports as roll_reward_<name>, made by ROLL_REWARD. The first two members never move, so
/// that any version of roll can read them.
struct RewardExport {
  uint32_t abi_version;  // kRewardAbiVersion when the library was built
  const char* cxx_abi;   // kRewardCxxAbi when the library was built
  RewardOutput (*function)(const RewardContext&);
};

}  // namespace roll

/// Exports `function`, a RewardOutput(const RewardContext&), under `name`, a C identifier; the key `name` selects it.
/// Use it at namespace scope, once per reward.
#define ROLL_REWARD(name, function)                                                              \
  extern "C" __attribute__((visibility("default"))) const roll::RewardExport roll_reward_##name; \
  const roll::RewardExport roll_reward_##name{roll::kRewardAbiVersion, roll::kRewardCxxAbi, function};
