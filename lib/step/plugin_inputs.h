// Opens the configured loss plug-ins and prepares their inputs, for role_losses.h and train/sft.cpp.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "experience/experience.h"
#include "loss/plugin.h"

namespace roll {

/// Opens a plug-in; nullopt if none is configured. `origin`: its key. UserError: LossPlugin::open() fails.
std::optional<LossPlugin> open_plugin(const PluginArgs& args, const std::string& origin);

/// Returns the micro-batch's masks, scores and tensors, and the `computed` ones (log_probs, values, ...), by their
/// names in roll/loss.h.
PluginInputs plugin_inputs(const Experience& micro_batch, std::map<std::string, at::Tensor> computed);

}  // namespace roll
