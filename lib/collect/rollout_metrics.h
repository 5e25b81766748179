// Rollout and validation metrics of scored responses, for the training loop. The functions compute metrics of the given
// records only; the caller merges the metrics of all ranks.
#pragma once

#include <vector>

#include "collect/group_quota.h"
#include "evaluation/judged_sample.h"
#include "records/rollout_record.h"
#include "track/metrics.h"

namespace roll {

/// Returns the metrics of the responses, over all records and for each domain under the prefix <domain>/: rollout/...,
/// and for trajectories (multi-turn responses) environment/...; track/metric_reference.cpp describes them.
/// - rollout/baseline_score: mean score of the baselines (RolloutRecord::is_baseline), which count in no other metric
Metrics rollout_metrics(const std::vector<RolloutRecord>& records);

/// Returns rollout/staleness/{mean,max}: by how many training steps the weights that drew a token were older than the
/// weights meant for the step; and rollout/stale_tokens: the share of tokens drawn by older weights. Skips records with
/// is_baseline.
Metrics staleness_metrics(const std::vector<RolloutRecord>& records);

/// Adds rollout/groups_{sampled,dropped,aborted}, each also as <domain>/rollout/... `counts`: by domain.
void add_group_metrics(const std::map<std::string, GroupQuota::Counts>& counts, Metrics& metrics);

/// Adds rollout/rows_passed_over, also as <domain>/rollout/... `rows`: by domain, the number of data rows that the
/// prompt stream skipped because of their pass rates.
void add_passed_over(const std::map<std::string, int64_t>& rows, Metrics& metrics);

/// Returns these metrics; <tag>: a row's tag as tag_in_metric() writes it, "all": all records.
/// - val_correct/{all,<tag>}/{mean,std}: 1 for a score of at least 1, else 0
/// - val_score/{all,<tag>}/{mean,std}: the scores
/// - val_prompts/{all,<tag>}: number of prompts
/// - val_response_length/mean: tokens that the model sampled; val_turns/mean: turns of trajectories
/// Responses that could not be judged count only in the last two.
Metrics validation_metrics(const std::vector<RolloutRecord>& records);

/// Converts a record to the form that evaluations save and compare.
JudgedSample judged_sample(const RolloutRecord& record);

/// Returns val_correct/{all,<tag>}/se and val_score/{all,<tag>}/se: standard errors of the means from
/// validation_metrics(), clustered by prompt. `samples`: of all ranks, because standard errors cannot be merged.
Metrics validation_errors(const std::vector<JudgedSample>& samples);

/// Returns the value of the metric `name`; NaN if it is missing.
double metric_value(const Metrics& metrics, const std::string& name);

}  // namespace roll
