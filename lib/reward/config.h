// Keys of one reward worker (one domain).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace roll {

struct QueryFilterArgs {
  double threshold_down = 0;
  double threshold_up = 1;
  double std_threshold = 0;

  template <class V>
  void fields(V& v) {
    v("threshold_down", threshold_down, "mean_filter: groups at or below this mean score are dropped");
    v("threshold_up", threshold_up, "mean_filter: groups at or above this mean score are dropped");
    v("std_threshold", std_threshold, "std_filter: groups at or below this deviation are dropped");
  }
};

struct QueryFilterConfig {
  std::string type = "no_filter";
  QueryFilterArgs filter_args;

  template <class V>
  void fields(V& v) {
    v.choice("type", type, {"no_filter", "mean_filter", "std_filter"}, "which groups of responses are dropped");
    v("filter_args", filter_args, "thresholds of the filter");
  }
};

struct RewardArgs {
  std::optional<std::string> worker_cls;
  std::optional<std::string> type;
  std::vector<std::string> tag_included;
  std::optional<std::string> reward_type;
  std::optional<std::string> format_pattern;
  double response_length_penalty_coef = 0;
  QueryFilterConfig query_filter_config;
  std::optional<std::string> pattern;
  std::vector<std::string> command;
  double timeout_s = 10;
  int64_t world_size = 1;

  template <class V>
  void fields(V& v) {
    v("worker_cls", worker_cls, "ROLL's class path; its last part names a built-in reward");
    v.choice("type", type, {"math_rule", "exact_match", "regex", "command"}, "built-in reward; null: from worker_cls");
    v("tag_included", tag_included, "data rows with one of these tags belong to the domain");
    v.choice("reward_type", reward_type, {"soft", "hard"}, "partial credit, or all or nothing");
    v("format_pattern", format_pattern, "regular expression that a well-formed response matches");
    v("response_length_penalty_coef", response_length_penalty_coef, "taken off per unit of length over the limit");
    v("query_filter_config", query_filter_config, "drops groups that teach nothing");
    v("pattern", pattern, "type regex: expression whose first group is compared to ground_truth");
    v("command", command, "type command: program and arguments; JSON lines in, JSON lines out");
    v("timeout_s", timeout_s, "seconds that one response may take");
    v("world_size", world_size, "rewards computed at the same time");
  }
};

}  // namespace roll
