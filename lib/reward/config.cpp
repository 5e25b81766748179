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
  v("type", type, "rule by which groups of responses are dropped");
  v("filter_args", filter_args, "thresholds of the filter");
}

void RewardTerm::fields(Keys& v) {
  v("type", type, "reward type of this term");
  v("weight", weight, "factor of the term's reward in the sum", within(-1'000'000, 1'000'000));
  v("reward_type", reward_type, "like the domain's reward_type, for this term");
  infer_type(type, v);
  own_fields(type, v);
  refuse_foreign_keys(type, v);
}

void RewardArgs::fields(Keys& v) {
  v("worker_cls", worker_cls, "ROLL's class path; its last part may name a type");
  v("type", type, "how the reward is computed; null: worker_cls selects it");
  if (!type && worker_cls) type = type_of_worker_class(*worker_cls);
  v("terms", terms,
    "several rewards instead of one type: the reward is their weighted sum, the score is the first "
    "term's");
  v("tag_included", tag_included, "data rows with one of these tags belong to the domain");
  v("reward_type", reward_type,
    "soft: the type's number, unchanged; hard: 1 if it is at least 0.5, else 0; crossthinkqa: soft, loose and strict "
    "grade answers outside of \\boxed");
  v("format_pattern", format_pattern, "PCRE2 expression that a response must match, else its reward is 0");
  v("format_reward", format_reward,
    "added if format_pattern matches; a mismatch then no longer sets the reward to "
    "0; null: off",
    within(-1'000'000, 1'000'000));
  v("response_length_penalty_coef", response_length_penalty_coef,
    "subtracts this x response tokens / response_length; crossthinkqa: this x 0.5 up to 100 tokens, falling to 0 at "
    "400",
    within(0, 1'000'000));
  v("overlong_buffer", overlong_buffer, "DAPO's penalty for responses whose length is near response_length");
  v("repetition_penalty", repetition_penalty, "penalty for repeated n-grams of words");
  const double usual_penalty = type ? reward_traits(*type).repetition_penalty : 0;
  v.only_if(repetition_penalty.ngram_size, repetition_penalty.max_penalty.value_or(usual_penalty) != 0,
            repetition_penalty.max_penalty);
  v("query_filter_config", query_filter_config, "drops groups that teach nothing");
  v("timeout_s", timeout_s,
    "seconds that one response, or one retry, may take; null: 10, for code_sandbox 30, for llm_judge 60",
    above_to(0, 86400));
  v("on_reward_error", on_reward_error,
    "a response whose reward failed: drop: it teaches nothing; zero: its reward is 0; stop: the run ends");
  v("max_retries", max_retries, "retries of a failed reward, after growing pauses; null: 0, for servers 3",
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
  v.noted({"generating_args"}, "only a judge (llm_judge) generates text");
  v.noted({"reward_manager_config"}, "terms describe several rewards of a domain");
}

}  // namespace roll
