// Configuration of one reward worker (one domain). Keys of a single type are in the header of that type.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/names.h"
#include "config/range.h"
#include "reward/overlong.h"
#include "reward/repetition.h"
#include "reward/types.h"

namespace roll {

/// Filters that drop whole groups of responses.
enum class QueryFilter { kNone, kMean, kStd };
constexpr auto names_of(QueryFilter) {
  return std::to_array<Named<QueryFilter>>(
      {{QueryFilter::kNone, "no_filter"}, {QueryFilter::kMean, "mean_filter"}, {QueryFilter::kStd, "std_filter"}});
}

/// Treatment of a response whose reward failed (reward_pool.h).
enum class RewardErrorPolicy { kDrop, kZero, kStop };
constexpr auto names_of(RewardErrorPolicy) {
  return std::to_array<Named<RewardErrorPolicy>>(
      {{RewardErrorPolicy::kDrop, "drop"}, {RewardErrorPolicy::kZero, "zero"}, {RewardErrorPolicy::kStop, "stop"}});
}

struct QueryFilterArgs {
  double threshold_down = 0;
  double threshold_up = 1;
  double std_threshold = 0;

  template <class V>
  void fields(V& v) {
    v("threshold_down", threshold_down, "mean_filter: groups at or below this mean score are dropped",
      within(-1'000'000, 1'000'000));
    v("threshold_up", threshold_up, "mean_filter: groups at or above this mean score are dropped",
      within(-1'000'000, 1'000'000));
    v("std_threshold", std_threshold, "std_filter: groups at or below this deviation are dropped",
      within(-1'000'000, 1'000'000));
  }
};

struct QueryFilterConfig {
  QueryFilter type = QueryFilter::kNone;
  QueryFilterArgs filter_args;

  template <class V>
  void fields(V& v) {
    v("type", type, "which groups of responses are dropped");
    v("filter_args", filter_args, "thresholds of the filter");
  }
};

/// One of several rewards of a domain (terms.h).
struct RewardTerm {
  std::optional<RewardType> type;
  double weight = 1;
  RewardScale reward_type = RewardScale::kSoft;

  template <class V>
  void fields(V& v) {
    v("type", type, "what decides this term");
    v("weight", weight, "the sum has this x the term's reward", within(-1'000'000, 1'000'000));
    v("reward_type", reward_type, "as the domain's, of this term");
    infer_type(type, v);
    own_fields(type, v);
    refuse_foreign_keys(type, v);
  }
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

  template <class V>
  void fields(V& v) {
    v("worker_cls", worker_cls, "ROLL's class path; its last part may name a type");
    v("type", type, "what decides the reward; null: worker_cls");
    if (!type && worker_cls) type = type_of_worker_class(*worker_cls);
    v("terms", terms, "several rewards instead of one type: their weighted sum; the score is the first one's");
    v("tag_included", tag_included, "data rows with one of these tags belong to the domain");
    v("reward_type", reward_type,
      "soft: the type's number as it is; hard: 1 from 0.5 on, else 0; crossthinkqa: soft, loose and strict grade "
      "answers outside of \\boxed");
    v("format_pattern", format_pattern, "PCRE2 expression that a response must match, else its reward is 0");
    v("format_reward", format_reward, "added where format_pattern matches, and nothing is 0 elsewhere; null: off",
      within(-1'000'000, 1'000'000));
    v("response_length_penalty_coef", response_length_penalty_coef,
      "taken off: this x response tokens / response_length; crossthinkqa: this x 0.5 below 100 tokens, less up to 400",
      within(0, 1'000'000));
    v("overlong_buffer", overlong_buffer, "DAPO's penalty of responses that come near response_length");
    v("repetition_penalty", repetition_penalty, "penalty of n-grams of words that repeat");
    v("query_filter_config", query_filter_config, "drops groups that teach nothing");
    v("timeout_s", timeout_s,
      "seconds that one response, or one retry, may take; null: 10, of code_sandbox 30, of llm_judge 60",
      above_to(0, 86400));
    v("on_reward_error", on_reward_error,
      "a response whose reward could not be had: drop: teaches nothing; zero: its reward is 0; stop: the run ends");
    v("max_retries", max_retries,
      "how often a reward that could not be had is asked for again, after a growing pause; null: 0, of servers 3",
      within(0, 1000));
    v("world_size", world_size, "rewards computed at the same time, on each rank that leads its group",
      within(1, 1024));
    if (terms.empty()) infer_type(type, v), own_fields(type, v);
    roll_fields(v);  // first, because a type may own a key that is only noted for others
    terms.empty() ? refuse_foreign_keys(type, v) : refuse_own_keys(v);
  }

 private:
  template <class V>
  void roll_fields(V& v) {
    v.noted({"training_args", "name", "system_envs", "use_local", "max_concurrency", "backend_timeout",
             "response_filter_config"},
            "a reward is not trained, and lives in the ranks' own processes");
    v.noted({"generating_args"}, "only a judge (llm_judge) writes something");
    v.noted({"reward_manager_config"}, "terms describe several rewards of a domain");
  }
};

}  // namespace roll
