// Rollout and validation metrics of scored responses, for the training pipelines.
#pragma once

#include <vector>

#include "collect/group_quota.h"
#include "evaluation/judged_sample.h"
#include "records/rollout_record.h"
#include "track/metrics.h"

namespace roll {

/// Returns rollout/finish_reason/{stop,length,stop_string,abort}, the share of responses that ended so; also as
/// <domain>/rollout/... Baselines count only in [<domain>/]rollout/baseline_score, their mean score.
Metrics rollout_metrics(const std::vector<RolloutRecord>& records);

/// Returns rollout/staleness/{mean,max}: versions by which the weights that drew a token were older than those meant
/// for the step; and rollout/stale_tokens: the share of tokens drawn by older weights. Skips baselines.
Metrics staleness_metrics(const std::vector<RolloutRecord>& records);

/// Adds rollout/groups_{sampled,dropped,aborted}, each also as <domain>/...
void add_group_metrics(const std::map<std::string, GroupQuota::Counts>& counts, Metrics& metrics);

/// Adds rollout/rows_passed_over, also as <domain>/...
void add_passed_over(const std::map<std::string, int64_t>& rows, Metrics& metrics);

/// Returns val_correct/{all,<tag>}/mean: share of correct responses (score >= 1); val_score/{all,<tag>}/mean: mean
/// score; val_response_length/mean. Tags are written as by tag_in_metric().
Metrics validation_metrics(const std::vector<RolloutRecord>& records);

/// Returns the facts of a response that an evaluation needs.
JudgedSample judged_sample(const RolloutRecord& record);

/// Returns val_correct/{all,<tag>}/se and val_score/{all,<tag>}/se: standard errors of the means from
/// validation_metrics(). `samples`: of all ranks.
Metrics validation_errors(const std::vector<JudgedSample>& samples);

/// Returns the value of a metric; NaN if it is missing.
double metric_value(const Metrics& metrics, const std::string& name);

}  // namespace roll
