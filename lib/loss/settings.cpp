#include "loss/settings.h"

namespace roll {

LossSettings loss_settings(const LossConfig& config, const PolicyArgs& policy) {
  LossSettings settings{.modes = loss_modes(config), .counted_masks = config.loss_mask_keys, .policy = policy};
  settings.clip = config.use_pg_clip_range ? ClipRange{config.pg_clip_low, config.pg_clip_high}
                                           : ClipRange{config.pg_clip, config.pg_clip};
  if (config.dual_clip_loss) settings.dual_clip_c = config.dual_clip_c.value_or(1 + 2 * config.pg_clip);
  settings.value_clip = config.value_clip;
  settings.importance_sampling = config.importance_sampling;
  settings.kl_penalty = config.kl_loss_penalty;
  settings.policy_coef = config.rl_loss_coef;
  settings.kl_coef = config.use_kl_loss ? config.rl_loss_coef * config.kl_loss_coef : 0;
  settings.entropy_coef = config.entropy_loss_coef;
  settings.positive_coef = config.positive_loss_coef;
  if (config.difficulty_loss_weight)
    settings.difficulty_weights = {config.difficulty_range[0], config.difficulty_range[1]};
  settings.length_weights = config.length_loss_weight;
  return settings;
}

}  // namespace roll
