// Keys of one reward worker (one domain).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/names.h"
#include "config/range.h"

namespace roll {

/// Which groups of responses are dropped.
enum class QueryFilter { kNone, kMean, kStd };
constexpr auto names_of(QueryFilter) {
  return std::to_array<Named<QueryFilter>>(
      {{QueryFilter::kNone, "no_filter"}, {QueryFilter::kMean, "mean_filter"}, {QueryFilter::kStd, "std_filter"}});
}

enum class RewardScale { kSoft, kHard };
constexpr auto names_of(RewardScale) {
  return std::to_array<Named<RewardScale>>({{RewardScale::kSoft, "soft"}, {RewardScale::kHard, "hard"}});
}

/// What of a response exact_match compares.
enum class AnswerPart { kWhole, kLastLine, kAfterMarker };
constexpr auto names_of(AnswerPart) {
  return std::to_array<Named<AnswerPart>>({{AnswerPart::kWhole, "whole"},
                                           {AnswerPart::kLastLine, "last_line"},
                                           {AnswerPart::kAfterMarker, "after_marker"}});
}

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
  QueryFilter type = QueryFilter::kNone;
  QueryFilterArgs filter_args;

  template <class V>
  void fields(V& v) {
    v("type", type, "which groups of responses are dropped");
    v("filter_args", filter_args, "thresholds of the filter");
  }
};

struct RewardArgs {
  std::optional<std::string> worker_cls;
  std::optional<std::string> type;
  std::vector<std::string> tag_included;
  RewardScale reward_type = RewardScale::kSoft;
  std::optional<std::string> format_pattern;
  double response_length_penalty_coef = 0;
  QueryFilterConfig query_filter_config;
  std::optional<std::string> pattern;
  AnswerPart compare = AnswerPart::kWhole;
  std::string marker = "####";
  bool ignore_case = false;
  std::vector<std::string> command;
  double timeout_s = 10;
  int64_t world_size = 1;

  template <class V>
  void fields(V& v) {
    v("worker_cls", worker_cls, "ROLL's class path; its last part names a built-in reward");
    v("type", type, "built-in reward; null: from worker_cls");
    v("tag_included", tag_included, "data rows with one of these tags belong to the domain");
    v("reward_type", reward_type, "the rule's number as it is; hard: 1 from 0.5 on, else 0");
    v("format_pattern", format_pattern, "PCRE2 expression that a response must match, else its reward is 0");
    v("response_length_penalty_coef", response_length_penalty_coef,
      "taken off: this x response tokens / response_length", at_least(0));
    v("query_filter_config", query_filter_config, "drops groups that teach nothing");
    v("pattern", pattern, "type regex: expression whose first group must equal ground_truth; 1 if it has none");
    v("compare", compare, "type exact_match: what of the response must equal ground_truth");
    v("marker", marker, "type exact_match: the last one in the response stands before the answer");
    v("ignore_case", ignore_case, "types exact_match and regex: ASCII letters compare equal in either case");
    v("command", command, "type command: program and arguments; JSON lines in, JSON lines out");
    v("timeout_s", timeout_s, "seconds that one response may take", above_to(0, 86400));
    v("world_size", world_size, "rewards computed at the same time", within(1, 1024));
  }
};

}  // namespace roll
