// The configured loss plug-ins, and what they see of a micro-batch.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "experience/experience.h"
#include "loss/plugin.h"

namespace roll {

/// None where none is configured. `origin`: the key. UserError of LossPlugin::open().
std::optional<LossPlugin> open_plugin(const PluginArgs& args, const std::string& origin);

/// Masks, scores and tensors of the micro-batch, and `computed` ones (log_probs, values, ...) under the names of
/// roll/loss.h.
PluginInputs plugin_inputs(const Experience& micro_batch, std::map<std::string, at::Tensor> computed);

}  // namespace roll
