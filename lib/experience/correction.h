// The key train_infer_correction, for build.cpp: corrects for log-probs of the sampler that differ from the trainer's
// (old_log_probs) for the same policy, because of kernels, precision, sampling penalties or truncation. Importance
// weights scale the policy loss (clamped to bounds: TIS, Yao et al. 2025; 0 outside the bounds: IcePop, 2025); filters
// remove tokens, turns or responses from the loss. Both read d = old_log_probs - sampler_log_probs of response tokens,
// and are constant within a step.
#pragma once

#include "experience/config.h"
#include "experience/experience.h"
#include "track/metrics.h"

namespace roll {

/// Sets experience.is_weights [T] if weights are enabled, and removes filtered tokens from final_response_mask: from
/// the policy and KL losses, not from the critic's. Does nothing if nothing is enabled. Each token gets the ratio and
/// difference of its unit at a level (CorrectionLevel):
///   token      the token                                     exp(d)           p_old - p_sampler
///   segment    its turn; without turns, the response         exp(mean of d)   mean of p_old - p_sampler
///   geometric  its context; usually the response             exp(mean of d)   mean of p_old - p_sampler
///   sequence   its context                                   exp(sum of d)    sum of p_old - p_sampler
/// Filters see all tokens of a response, whatever other filters removed. Returns metrics over this rank's response
/// tokens: actor/train_infer_{ratio,diff}_<level>/mean, actor/is_weight/mean, actor/is_weight_clipfrac,
/// actor/train_infer_kept_ratio. Throws Bug if log-probs of trainer or sampler are missing while something is enabled.
Metrics correct_for_sampler(Experience& experience, const TrainInferCorrection& config);

}  // namespace roll
