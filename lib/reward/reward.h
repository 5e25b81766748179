// Rewards: a response of a prompt and its ground truth to a number and the reasons for it.
//
//   make_reward(options)  ->  RewardFunction::score(query)  ->  RewardResult
//
// What every type shares is done here, in this order:
//   format_pattern                a PCRE2 expression that the response must match (anywhere; anchor with ^ and $, which are
//                                 the ends of the text; '.' also matches newlines), else the reward is 0
//   reward_type: binary           the reward becomes 1 when it is >= 0.5, else 0; "soft" leaves it
//   response_length_penalty_coef  reward -= coef * num_response_tokens / max_response_tokens
// A type has its own time limit per response; past it the reward is 0 with detail {"error": "timeout"}.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"

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
};

struct RewardOptions {
  std::string type = "math_rule";    // one of reward_types()
  std::string origin = "--type";     // opens error messages: "file.yaml:12: rewards.math", or a flag
  double time_limit_s = 5;           // per response
  std::string format_pattern;        // "" for none
  std::string reward_type = "soft";  // soft | binary
  double response_length_penalty_coef = 0;
  int64_t max_response_tokens = 0;   // needed when the coefficient is not 0

  std::string compare = "whole";     // exact_match: whole | last_line | after_marker
  std::string marker = "####";       // exact_match: the last occurrence counts
  bool ignore_case = false;          // exact_match, regex
  std::string pattern;               // regex: its first group must equal ground_truth; without a group a match earns 1
  std::vector<std::string> command;  // command: program and its arguments
};

/// One kind of reward. Not thread-safe: one object per thread.
class RewardFunction {
 public:
  virtual ~RewardFunction() = default;
  /// UserError when an external program is broken; a wrong or unreadable response is a reward, never an error.
  virtual RewardResult score(const RewardQuery& query) = 0;
};

/// math_rule, exact_match, regex, command.
const std::vector<std::string>& reward_types();

/// UserError: unknown type or option value, a pattern that does not compile, a program that is missing.
std::unique_ptr<RewardFunction> make_reward(const RewardOptions& options);

}  // namespace roll
