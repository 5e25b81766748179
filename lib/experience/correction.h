// train_infer_correction: what to do where the sampler's log-probs and the trainer's (old_log_probs) differ, though
// both claim to be the same policy: other kernels, lower precision, penalties or truncation in sampling. Importance
// weights on the policy loss (cut to bounds: TIS, Yao et al. 2025; 0 outside them: IcePop, 2025), and filters that take
// tokens or sequences out of it. Both look at d = old_log_probs - sampler's log-probs of the response tokens and are
// constants of the step.
#pragma once

#include "experience/config.h"
#include "experience/experience.h"
#include "track/metrics.h"

namespace roll {

/// Sets experience.is_weights [T] when weights are enabled, and clears filtered tokens of final_response_mask: they
/// leave the policy and KL losses, while the critic still learns from them. Ratio at a level of aggregation: token
/// exp(d); geometric (and segment, of which a response is one) exp(mean of d); sequence exp(sum of d). Difference:
/// p_old - p_sampler of the token, its mean, its sum. Every filter is judged on the unfiltered response.
/// Metrics actor/train_infer_{ratio,diff}_<level>/mean, actor/is_weight_clipfrac, actor/train_infer_kept_ratio.
/// Bug: old or sampler's log-probs missing while something is enabled.
Metrics correct_for_sampler(Experience& experience, const TrainInferCorrection& config);

}  // namespace roll
