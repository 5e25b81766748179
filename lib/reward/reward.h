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
// A response may take `timeout_s`; past that its reward is 0 with detail {"error": "timeout"}.
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

/// One kind of reward. Not thread-safe: one object per thread.
class RewardFunction {
 public:
  virtual ~RewardFunction() = default;
  /// UserError when an external program is broken; a wrong or unreadable response is a reward, never an error.
  virtual RewardResult score(const RewardQuery& query) = 0;
};

/// response_length: the longest response in tokens, for the length penalty. `where` stands before a key in error
/// messages: "rewards.math.", or "--" for flags. UserError: no type, or one that worker_cls contradicts; a pattern that
/// does not compile, no command, ...
std::unique_ptr<RewardFunction> make_reward(const RewardArgs& args, int64_t response_length, const std::string& where);

}  // namespace roll
