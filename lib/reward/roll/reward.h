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
// reported; on_reward_error decides how the response counts. A crash ends the run: use `type: command` for untrusted
// code.
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

struct RewardOutput {
  double reward = 0;                                          // finite, within +-1,000,000
  double score = 0;                                           // verdict: 1 is right, 0 is wrong
  std::vector<std::pair<std::string, std::string>> detail{};  // reasons: name, text
};

/// One response. All texts are UTF-8, as far as the model wrote valid UTF-8.
class RewardContext {
 public:
  virtual ~RewardContext() = default;

  virtual const std::string& prompt() const = 0;
  virtual const std::string& response() const = 0;
  virtual const std::string& ground_truth() const = 0;
  virtual const std::string& tag() const = 0;
  virtual const std::string& domain() const = 0;
  virtual const std::string& finish_reason() const = 0;  // stop | length | stop_string | abort
  virtual int64_t num_response_tokens() const = 0;       // generated tokens, in all turns

  /// Returns a column of the data row: a string's text, other types as JSON; nullopt if it is missing or null.
  virtual std::optional<std::string> column(const std::string& name) const = 0;

  /// Returns the value of a key of `args` as written; nullopt if it is missing.
  virtual std::optional<std::string> arg(const std::string& key) const = 0;

  // ---- convenience functions

  /// Returns a key of `args` as a number. std::invalid_argument: its text is not a number.
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

/// The object that a library exports as roll_reward_<name>. The first two members never move.
struct RewardExport {
  uint32_t abi_version;
  const char* cxx_abi;
  RewardOutput (*function)(const RewardContext&);
};

}  // namespace roll

/// Exports `function` as `name` (a C identifier).
#define ROLL_REWARD(name, function)                                                              \
  extern "C" __attribute__((visibility("default"))) const roll::RewardExport roll_reward_##name; \
  const roll::RewardExport roll_reward_##name{roll::kRewardAbiVersion, roll::kRewardCxxAbi, function};
