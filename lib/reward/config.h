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
  std::string compare = "whole";
  std::string marker = "####";
  bool ignore_case = false;
  std::vector<std::string> command;
  double timeout_s = 10;
  int64_t world_size = 1;

  template <class V>
  void fields(V& v) {
    v("worker_cls", worker_cls, "ROLL's class path; its last part names a built-in reward");
    v.choice("type", type, {"math_rule", "exact_match", "regex", "command"}, "built-in reward; null: from worker_cls");
    v("tag_included", tag_included, "data rows with one of these tags belong to the domain");
    v.choice("reward_type", reward_type, {"soft", "hard"}, "the rule's number as it is; hard: 1 from 0.5 on, else 0");
    v("format_pattern", format_pattern, "PCRE2 expression that a response must match, else its reward is 0");
    v("response_length_penalty_coef", response_length_penalty_coef,
      "taken off: this x response tokens / response_length");
    v("query_filter_config", query_filter_config, "drops groups that teach nothing");
    v("pattern", pattern, "type regex: expression whose first group must equal ground_truth; 1 if it has none");
    v.choice("compare", compare, {"whole", "last_line", "after_marker"},
             "type exact_match: what of the response must equal ground_truth");
    v("marker", marker, "type exact_match: the last one in the response stands before the answer");
    v("ignore_case", ignore_case, "types exact_match and regex: ASCII letters compare equal in either case");
    v("command", command, "type command: program and arguments; JSON lines in, JSON lines out");
    v("timeout_s", timeout_s, "seconds that one response may take");
    v("world_size", world_size, "rewards computed at the same time");
  }
};

}  // namespace roll
