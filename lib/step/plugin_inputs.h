// Opens the loss plug-ins (shared libraries) of a configuration and prepares their inputs, for role_losses.h and
// train/sft.cpp.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "experience/experience.h"
#include "loss/plugin.h"

namespace roll {

/// Returns the opened plug-in; nullopt if `args` names no library. origin: its configuration key, which begins error
/// messages: "actor_train.loss_func". Throws UserError if the library is missing, cannot be loaded, has no such
/// function, or was built with another version of roll/loss.h or LibTorch.
std::optional<LossPlugin> open_plugin(const PluginArgs& args, const std::string& origin);

/// Returns a plug-in's inputs: the micro-batch's masks, scores and tensors, and `computed`. `computed` holds results of
/// the model, [T] each (T: tokens of the micro-batch), by the names in roll/loss.h, such as log_probs or values. It
/// replaces tensors of the micro-batch with the same names. Undefined tensors are left out.
PluginInputs plugin_inputs(const Experience& micro_batch, std::map<std::string, at::Tensor> computed);

}  // namespace roll
