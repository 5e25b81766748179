// The key train_infer_correction, for build.cpp: corrects for log-probs of the sampler that differ from the trainer's
// (old_log_probs) for the same policy, because of kernels, precision, sampling penalties or truncation. Importance
// weights scale the policy loss (clamped to bounds: TIS, Yao et al. 2025; 0 outside the bounds: IcePop, 2025); filters
// remove tokens, turns or responses from the loss. Both read d = old_log_probs - sampler_log_probs of sampled tokens,
// and are constant within a step.
#pragma once

#include "experience/config.h"
#include "experience/experience.h"
#include "track/metrics.h"

namespace roll {

/// Sets experience.is_weights [T] if weights are enabled, and removes filtered tokens from final_response_mask, i.e.
/// from the policy and KL losses, not from the critic's. Does nothing if nothing is enabled. The weight is the ratio
/// p_old / p_sampler. Ratio and difference are computed over the tokens of a level (CorrectionLevel), and each of these
/// tokens gets the result:
///   token      the token                                     exp(d)           p_old - p_sampler
///   segment    its turn; without turns, the response         exp(mean of d)   mean of p_old - p_sampler
///   geometric  its context; usually the response             exp(mean of d)   mean of p_old - p_sampler
///   sequence   its context                                   exp(sum of d)    sum of p_old - p_sampler
/// Filters see all tokens of a response, whatever other filters removed. Returns metrics over this rank's response
/// tokens: actor/train_infer_{ratio,diff}_<level>/mean, actor/is_weight/mean, actor/is_weight_clipfrac,
/// actor/train_infer_kept_ratio. Throws Bug if log-probs of trainer or sampler are missing while something is enabled.
Metrics correct_for_sampler(Experience& experience, const TrainInferCorrection& config);

}  // namespace roll
