// Gradients of a configuration's loss by the log-probs of a small golden step, through the experience.
#pragma once

#include <ATen/ATen.h>

#include "experience/build.h"
#include "experience/sample.h"
#include "golden_maths.h"
#include "settings/config.h"
#include "step/role_losses.h"
#include "step/step_settings.h"
#include "step/updates.h"

namespace roll::testing {

inline Experience golden_step(const Json& golden, const Config& config) {
  const std::vector<int64_t> prompts = golden["prompt_lengths"], responses = golden["response_lengths"];
  const std::vector<double> scores = golden["scores"], greedy = golden["greedy_rewards"];
  const std::string domain = config.rewards.empty() ? "" : config.rewards.begin()->first;
  const OverlongBuffer overlong =
      config.rewards.empty() ? OverlongBuffer{} : config.rewards.begin()->second.reward.overlong_buffer;
  std::vector<Sample> samples;
  for (int64_t b = 0; b < std::ssize(prompts); ++b) {
    const int64_t group = b / golden["group_size"].get<int64_t>();
    samples.push_back({.prompt_ids = std::vector<int64_t>(prompts[b], 1),
                       .response_ids = std::vector<int64_t>(responses[b], 2),
                       .sequence_index = b,
                       .group_index = group,
                       .score = scores[b],
                       .domain = domain});
    if (overlong.enable)
      samples.back().reward = scores[b] + overlong_reward(overlong, responses[b], *config.response_length);
    if (config.experience.adv_estimator->samples_baseline) samples.back().baseline = greedy[group];
  }
  Experience step = make_experience(samples);
  const Json& in = golden["inputs"];
  step.old_log_probs = floats(in["old_log_probs"]);
  step.sampler_log_probs = floats(in[in.contains("sampler_log_probs") ? "sampler_log_probs" : "old_log_probs"]);
  if (config.experience.adv_estimator->reads_energies) step.energies = floats(in["energies"]);
  if (config.uses_reference()) step.ref_log_probs = floats(in["ref_log_probs"]);
  if (config.uses_critic()) step.values = floats(in["values"]);
  return step;
}

/// The gradient of the mini-batch of the sequences `kept` of `whole`, on all its tokens. Entropies are `entropy_factor`
/// times the log-probs.
inline at::Tensor golden_gradient(const Config& config, const Json& golden, const Experience& whole,
                                  const std::vector<int64_t>& kept, double entropy_factor = 0) {
  Experience step = select(whole, kept);
  const int64_t num_groups = std::ssize(golden["greedy_rewards"]);
  ExperienceState state(config.experience);
  complete_experience(step, config.experience, num_groups, state);
  const at::Tensor log_probs = floats(golden["inputs"]["log_probs"]).requires_grad_();
  const at::Tensor of_step = log_probs.index_select(0, token_indices(whole, kept));
  const auto counts = count_masks(step, config.loss.loss_mask_keys, num_groups);
  const ActorLoss loss(step_settings(config).policy().loss);
  loss(step, {of_step, of_step * entropy_factor}, counts).loss.backward();
  return log_probs.grad().to(at::kDouble);
}

inline double cosine_of(const at::Tensor& a, const at::Tensor& b) {
  return (a.dot(b) / a.norm() / b.norm()).item<double>();
}

}  // namespace roll::testing
