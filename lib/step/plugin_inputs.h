// The configured loss plug-ins, and what they see of a batch.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "experience/experience.h"
#include "loss/plugin.h"

namespace roll {

/// None where none is configured. `origin`: the key. UserError of LossPlugin::open().
std::optional<LossPlugin> open_plugin(const PluginArgs& args, const std::string& origin);

/// The batch's masks, and `computed` tensors (log_probs, values, ...) under the names of roll/loss.h. Nothing was
/// scored: scores are 0.
PluginInputs plugin_inputs(const Batch& micro_batch, std::map<std::string, at::Tensor> computed);
/// With the scores and the tensors of an experience.
PluginInputs plugin_inputs(const Experience& micro_batch, std::map<std::string, at::Tensor> computed);

}  // namespace roll
