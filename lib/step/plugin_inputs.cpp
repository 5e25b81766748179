#include "step/plugin_inputs.h"

namespace roll {

std::optional<LossPlugin> open_plugin(const PluginArgs& args, const std::string& origin) {
  return args ? std::optional(LossPlugin::open(args, origin)) : std::nullopt;
}

PluginInputs plugin_inputs(const Experience& e, std::map<std::string, at::Tensor> computed) {
  at::Tensor sample_weights;
  if (!e.sample_weights.empty())
    sample_weights = spread(e.on_contexts(e.sample_weights), e.axis(), e.response_mask().device());
  const std::map<std::string, at::Tensor> step_tensors = {{"ref_log_probs", e.ref_log_probs},
                                                          {"advantages", e.advantages},
                                                          {"sampler_log_probs", e.sampler_log_probs},
                                                          {"returns", e.returns},
                                                          {"old_values", e.values},
                                                          {"token_rewards", e.token_rewards},
                                                          {"is_weights", e.is_weights},
                                                          {"sample_weights", sample_weights}};
  computed.insert(step_tensors.begin(), step_tensors.end());  // `computed` takes precedence
  std::erase_if(computed, [](const auto& entry) { return !entry.second.defined(); });
  return {e.axis(), e.on_contexts(e.sequence_index), e.scores_on_contexts(), std::move(computed), e.masks};
}

}  // namespace roll
