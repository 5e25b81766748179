// Rollout and validation metrics of scored responses, for the training loop. The functions compute metrics of the given
// records only; the caller merges the metrics of all ranks.
#pragma once

#include <vector>

#include "collect/group_quota.h"
#include "evaluation/judged_sample.h"
#include "records/rollout_record.h"
#include "track/metrics.h"

namespace roll {

/// Returns what each response tells, over all responses and for each domain (as <domain>/rollout/...): rollout/..., and
/// environment/... of trajectories; track/metric_reference.cpp describes them. The greedy baseline responses count in
/// rollout/baseline_score, their mean score, and nowhere else.
Metrics rollout_metrics(const std::vector<RolloutRecord>& records);

/// Returns rollout/staleness/{mean,max}: by how many training steps the weights that drew a token were older than the
/// weights meant for the step; and rollout/stale_tokens: the share of tokens drawn by older weights. Skips baselines.
Metrics staleness_metrics(const std::vector<RolloutRecord>& records);

/// Adds rollout/groups_{sampled,dropped,aborted}, each also as <domain>/rollout/... `counts`: by domain.
void add_group_metrics(const std::map<std::string, GroupQuota::Counts>& counts, Metrics& metrics);

/// Adds rollout/rows_passed_over, also as <domain>/rollout/... `rows`: by domain, the number of data rows that the
/// prompt stream skipped because of their pass rates.
void add_passed_over(const std::map<std::string, int64_t>& rows, Metrics& metrics);

/// Returns val_correct/{all,<tag>}/{mean,std} of "the score is at least 1"; val_score/{all,<tag>}/{mean,std} of the
/// scores; val_prompts/{all,<tag>}, the number of prompts; val_response_length/mean, in tokens; val_turns/mean. Tags
/// are written as by tag_in_metric(). Responses that could not be judged count only in the last two.
Metrics validation_metrics(const std::vector<RolloutRecord>& records);

/// Converts a record to the form that evaluations save and compare.
JudgedSample judged_sample(const RolloutRecord& record);

/// Returns val_correct/{all,<tag>}/se and val_score/{all,<tag>}/se: standard errors of the means from
/// validation_metrics(). `samples`: of all ranks, because errors of parts cannot be merged.
Metrics validation_errors(const std::vector<JudgedSample>& samples);

/// Returns the value of the metric `name`; NaN if it is missing.
double metric_value(const Metrics& metrics, const std::string& name);

}  // namespace roll
