#include "reward/config.h"

#include "config/keys.h"

namespace roll {

void QueryFilterArgs::fields(Keys& v) {
  v("threshold_down", threshold_down, "mean_filter: groups at or below this mean score are dropped",
    within(-1'000'000, 1'000'000));
  v("threshold_up", threshold_up, "mean_filter: groups at or above this mean score are dropped",
    within(-1'000'000, 1'000'000));
  v("std_threshold", std_threshold, "std_filter: groups at or below this deviation are dropped",
    within(-1'000'000, 1'000'000));
}

void QueryFilterConfig::fields(Keys& v) {
  v("type", type, "which groups of responses are dropped");
  v("filter_args", filter_args, "thresholds of the filter");
}

void RewardTerm::fields(Keys& v) {
  v("type", type, "what decides this term");
  v("weight", weight, "the sum has this x the term's reward", within(-1'000'000, 1'000'000));
  v("reward_type", reward_type, "as the domain's, of this term");
  infer_type(type, v);
  own_fields(type, v);
  refuse_foreign_keys(type, v);
}

void RewardArgs::fields(Keys& v) {
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
  const double usual_penalty = type ? reward_traits(*type).repetition_penalty : 0;
  v.only_if(repetition_penalty.ngram_size, repetition_penalty.max_penalty.value_or(usual_penalty) != 0,
            repetition_penalty.max_penalty);
  v("query_filter_config", query_filter_config, "drops groups that teach nothing");
  v("timeout_s", timeout_s,
    "seconds that one response, or one retry, may take; null: 10, of code_sandbox 30, of llm_judge 60",
    above_to(0, 86400));
  v("on_reward_error", on_reward_error,
    "a response whose reward could not be had: drop: teaches nothing; zero: its reward is 0; stop: the run ends");
  v("max_retries", max_retries,
    "how often a reward that could not be had is asked for again, after a growing pause; null: 0, of servers 3",
    within(0, 1000), may_change());
  v("world_size", world_size, "rewards computed at the same time, on each rank that leads its group", within(1, 1024),
    may_change());
  if (terms.empty()) infer_type(type, v), own_fields(type, v);
  roll_fields(v);  // first, as a type may own keys that are noted for other types
  terms.empty() ? refuse_foreign_keys(type, v) : refuse_own_keys(v);
}

void RewardArgs::roll_fields(Keys& v) {
  v.noted({"training_args", "name", "system_envs", "use_local", "max_concurrency", "backend_timeout",
           "response_filter_config"},
          "a reward is not trained, and lives in the ranks' own processes");
  v.noted({"generating_args"}, "only a judge (llm_judge) writes something");
  v.noted({"reward_manager_config"}, "terms describe several rewards of a domain");
}

}  // namespace roll
