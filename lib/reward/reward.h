// Rewards: a response of a prompt and its ground truth to a number and the reasons for it.
//
//   make_reward(RewardArgs)  ->  RewardFunction::score(query)  ->  RewardResult
//
// What every type shares is done here, in this order:
//   reward_type: hard             the rule's number becomes 1 when it is >= 0.5, else 0; "soft" leaves it
//   score                         is this number, the verdict; so is the reward, but for penalties:
//   format_pattern                a PCRE2 expression that the response must match (anywhere; anchor with ^ and $, which
//                                 are the ends of the text; '.' also matches newlines), else the reward is 0
//   response_length_penalty_coef  reward -= coef * num_response_tokens / response_length
// A response may take `timeout_s`; past that its reward is 0 with detail {"error": "timeout"}. Any other "error" in the
// detail says that the reward could not be had either, such as a number that is not finite or beyond kLargestReward.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "reward/config.h"

namespace roll {

struct RewardQuery {
  Json row;  // the data row; given to programs as "row"
  std::string prompt, response, ground_truth, tag, domain;
  std::string finish_reason;  // stop | length | stop_string | abort
  int64_t num_response_tokens = 0;
};

struct RewardResult {
  double reward = 0;
  Json detail = Json::object();
  double score = 0;  // the reward before penalties; make_reward()'s functions set it
};

/// Squares of such rewards, summed over a million responses, and their sixteenths are float32 numbers.
constexpr double kLargestReward = 1e6;

/// What stands for a reward that could not be had.
RewardResult failed_reward(const std::string& why);

/// How many answers failed.
struct RewardFaults {
  int64_t timeouts = 0, errors = 0;
  std::string first_error;

  void add(const Json& detail);
  int64_t total() const { return timeouts + errors; }
  /// "2 took longer than timeout_s, 1 failed: ..."
  std::string text() const;
};

/// One kind of reward. Not thread-safe: one object per thread.
class RewardFunction {
 public:
  virtual ~RewardFunction() = default;
  /// Before the first query. UserError: an external program that is not there, or may not be executed.
  virtual void prepare() {}
  /// UserError when an external program is broken (command.h); a wrong or unreadable response is a reward, never an
  /// error.
  virtual RewardResult score(const RewardQuery& query) = 0;
};

/// response_length: the longest response in tokens, for the length penalty. `where` stands before a key in error
/// messages: "rewards.math.", or "--" for flags. UserError: no type, or one that worker_cls contradicts; a pattern that
/// does not compile, no command, ...
std::unique_ptr<RewardFunction> make_reward(const RewardArgs& args, int64_t response_length, const std::string& where);

}  // namespace roll
