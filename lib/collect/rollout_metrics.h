// Metrics of scored responses, before anything is trained on them.
#pragma once

#include <vector>

#include "collect/group_quota.h"
#include "evaluation/judged_sample.h"
#include "records/rollout_record.h"
#include "track/metrics.h"

namespace roll {

/// rollout/finish_reason/{stop,length,stop_string,abort}: the share of a step's responses that ended so; the same of
/// each domain, <domain>/rollout/... Of baselines only rollout/baseline_score, their mean, and <domain>/rollout/...
Metrics rollout_metrics(const std::vector<RolloutRecord>& records);

/// rollout/staleness/{mean,max}: by how many versions the weights that drew a token were older than those that are
/// meant to sample the step; rollout/stale_tokens: the share of tokens of which they were. Baselines not counted.
Metrics staleness_metrics(const std::vector<RolloutRecord>& records);

/// rollout/groups_{sampled,dropped,aborted}, each also as <domain>/...
void add_group_metrics(const std::map<std::string, GroupQuota::Counts>& counts, Metrics& metrics);

/// rollout/rows_passed_over, also as <domain>/...
void add_passed_over(const std::map<std::string, int64_t>& rows, Metrics& metrics);

/// val_correct/{all,<tag>}/mean: the share of right responses, those with a score of 1 or more; val_score/{all,<tag>}/
/// mean: their mean score, each tag as tag_in_metric writes it; val_response_length/mean.
Metrics validation_metrics(const std::vector<RolloutRecord>& records);

/// What an evaluation needs to know of a response.
JudgedSample judged_sample(const RolloutRecord& record);

/// val_correct/{all,<tag>}/se and val_score/{all,<tag>}/se: the standard errors of validation_metrics()' means, from
/// the judged samples of all ranks.
Metrics validation_errors(const std::vector<JudgedSample>& samples);

/// The value of a metric; NaN where it is not there.
double value_of(const Metrics& metrics, const std::string& name);

}  // namespace roll
