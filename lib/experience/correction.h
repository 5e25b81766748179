// train_infer_correction: corrects for different log-probs of sampler and trainer (old_log_probs) under the same
// policy, caused by kernels, precision, sampling penalties or truncation. Importance weights scale the policy loss
// (clamped to bounds: TIS, Yao et al. 2025; 0 outside them: IcePop, 2025); filters remove tokens or sequences from it.
// Both read d = old_log_probs - sampler's log-probs of response tokens and are constant within a step.
#pragma once

#include "experience/config.h"
#include "experience/experience.h"
#include "track/metrics.h"

namespace roll {

/// Sets experience.is_weights [T] if weights are enabled, and removes filtered tokens from final_response_mask: from
/// the policy and KL losses, not from the critic's.
/// Ratio by level: token exp(d); geometric and segment (one turn; without turns the response) exp(mean of d); sequence
/// exp(sum of d). Difference: p_old - p_sampler of the token, its mean, its sum. Filters see the unfiltered response.
/// Metrics actor/train_infer_{ratio,diff}_<level>/mean, actor/is_weight_clipfrac, actor/train_infer_kept_ratio.
/// Bug: log-probs of trainer or sampler are missing while something is enabled.
Metrics correct_for_sampler(Experience& experience, const TrainInferCorrection& config);

}  // namespace roll
