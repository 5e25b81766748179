// Configuration of the reward of one domain, rewards.<domain>: the keys common to all reward types. The keys of one
// type are in the header of that type (types.h). A domain is a group of data rows with the same reward.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/names.h"
#include "reward/overlong.h"
#include "reward/repetition.h"
#include "reward/types.h"

namespace roll {

class Keys;

/// Rule for dropping groups. A group is all responses to one prompt.
enum class QueryFilter {
  kNone,  // drops nothing
  kMean,  // drops by the mean score of the group
  kStd    // drops by the sample standard deviation of its scores
};
constexpr auto enum_names(QueryFilter) {
  return std::to_array<Named<QueryFilter>>(
      {{QueryFilter::kNone, "no_filter"}, {QueryFilter::kMean, "mean_filter"}, {QueryFilter::kStd, "std_filter"}});
}

/// Treatment of a response whose reward failed.
enum class RewardErrorPolicy {
  kDrop,  // the response is excluded from training
  kZero,  // the reward counts as 0
  kStop   // the run ends with a UserError
};
constexpr auto enum_names(RewardErrorPolicy) {
  return std::to_array<Named<RewardErrorPolicy>>(
      {{RewardErrorPolicy::kDrop, "drop"}, {RewardErrorPolicy::kZero, "zero"}, {RewardErrorPolicy::kStop, "stop"}});
}

/// Thresholds of the filter.
struct QueryFilterArgs {
  double threshold_down = 0;  // kMean keeps only groups whose mean score is above this
  double threshold_up = 1;    // kMean keeps only groups whose mean score is below this
  double std_threshold = 0;   // kStd keeps only groups whose standard deviation is above this

  void fields(Keys& v);
};

/// Key query_filter_config.
struct QueryFilterConfig {
  QueryFilter type = QueryFilter::kNone;
  QueryFilterArgs filter_args;

  void fields(Keys& v);
};

/// One of several rewards of a domain; the domain's reward is the sum of weight x reward (terms.h).
struct RewardTerm {
  std::optional<RewardType> type;                // with the type's own keys; must be set
  double weight = 1;                             // may be negative
  RewardScale reward_type = RewardScale::kSoft;  // changes this term's numbers (rule.h)

  void fields(Keys& v);
};

/// All keys of rewards.<domain>. Each member is the key of the same name; config.cpp has their full meanings. Either
/// `terms` is empty, or neither `type` nor `worker_cls` is set (make_reward() checks it).
struct RewardArgs {
  std::optional<std::string> worker_cls;  // class path in ROLL, whose last part names a type
  std::optional<RewardType> type;         // with the type's own keys; set from worker_cls if only that is given
  std::vector<RewardTerm> terms;          // several rewards instead of one type
  std::vector<std::string> tag_included;  // data rows with one of these tags belong to the domain

  // Applied to the reward in this order (reward.h).
  RewardScale reward_type = RewardScale::kSoft;  // changes the type's numbers (rule.h)
  std::optional<std::string> format_pattern;     // PCRE2; a response that it does not match gets reward 0; nullopt: off
  std::optional<double> format_reward;           // if set: a match adds this, and a mismatch changes nothing
  double response_length_penalty_coef = 0;       // subtracts this x response tokens / response_length
  OverlongBuffer overlong_buffer;                // penalty for responses close to response_length
  RepetitionPenalty repetition_penalty;          // penalty for repeated n-grams of words

  QueryFilterConfig query_filter_config;  // drops whole groups of responses; not applied to the reward
  std::optional<double> timeout_s;        // for one response, or one retry; nullopt: the type's usual_patience()
  RewardErrorPolicy on_reward_error = RewardErrorPolicy::kDrop;
  std::optional<int64_t> max_retries;  // retries of a failed reward; nullopt: the type's usual_patience()
  int64_t world_size = 1;              // worker threads that score at the same time, on each scoring rank

  void fields(Keys& v);

 private:
  void roll_fields(Keys& v);
};

}  // namespace roll
