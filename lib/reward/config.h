// Configuration of one reward worker (one domain). Keys of a single type are in the header of that type.
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

/// Rule for dropping groups of responses.
enum class QueryFilter { kNone, kMean, kStd };
constexpr auto enum_names(QueryFilter) {
  return std::to_array<Named<QueryFilter>>(
      {{QueryFilter::kNone, "no_filter"}, {QueryFilter::kMean, "mean_filter"}, {QueryFilter::kStd, "std_filter"}});
}

/// Treatment of a response whose reward failed (reward_pool.h).
enum class RewardErrorPolicy { kDrop, kZero, kStop };
constexpr auto enum_names(RewardErrorPolicy) {
  return std::to_array<Named<RewardErrorPolicy>>(
      {{RewardErrorPolicy::kDrop, "drop"}, {RewardErrorPolicy::kZero, "zero"}, {RewardErrorPolicy::kStop, "stop"}});
}

struct QueryFilterArgs {
  double threshold_down = 0;
  double threshold_up = 1;
  double std_threshold = 0;

  void fields(Keys& v);
};

struct QueryFilterConfig {
  QueryFilter type = QueryFilter::kNone;
  QueryFilterArgs filter_args;

  void fields(Keys& v);
};

/// One of several rewards of a domain (terms.h).
struct RewardTerm {
  std::optional<RewardType> type;
  double weight = 1;
  RewardScale reward_type = RewardScale::kSoft;

  void fields(Keys& v);
};

struct RewardArgs {
  std::optional<std::string> worker_cls;
  std::optional<RewardType> type;  // derived from worker_cls if only that is set
  std::vector<RewardTerm> terms;
  std::vector<std::string> tag_included;
  RewardScale reward_type = RewardScale::kSoft;
  std::optional<std::string> format_pattern;
  std::optional<double> format_reward;
  double response_length_penalty_coef = 0;
  OverlongBuffer overlong_buffer;
  RepetitionPenalty repetition_penalty;
  QueryFilterConfig query_filter_config;
  std::optional<double> timeout_s;
  RewardErrorPolicy on_reward_error = RewardErrorPolicy::kDrop;
  std::optional<int64_t> max_retries;
  int64_t world_size = 1;

  void fields(Keys& v);

 private:
  void roll_fields(Keys& v);
};

}  // namespace roll
