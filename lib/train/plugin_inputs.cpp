#include "train/plugin_inputs.h"

namespace roll {

PluginInputs plugin_inputs(const Experience& e, std::map<std::string, at::Tensor> computed,
                           std::map<std::string, at::Tensor> masks) {
  PluginInputs inputs{e.axis(), e.sequence_index, e.scores, std::move(computed), std::move(masks)};
  const std::map<std::string, at::Tensor> of_step = {{"ref_log_probs", e.ref_log_probs},
                                                     {"advantages", e.advantages},
                                                     {"sampler_log_probs", e.sampler_log_probs},
                                                     {"returns", e.returns},
                                                     {"old_values", e.values},
                                                     {"token_rewards", e.token_rewards},
                                                     {"is_weights", e.is_weights}};
  inputs.tensors.insert(of_step.begin(), of_step.end());  // what was computed wins
  std::erase_if(inputs.tensors, [](const auto& entry) { return !entry.second.defined(); });
  return inputs;
}

}  // namespace roll
