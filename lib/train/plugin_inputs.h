// What loss plug-ins see of an experience.
#pragma once

#include <map>
#include <string>

#include "experience/experience.h"
#include "loss/plugin.h"

namespace roll {

/// The experience's tensors under the names of roll/loss.h, and `computed` ones (log_probs, values, ...) beside them.
PluginInputs plugin_inputs(const Experience& micro_batch, std::map<std::string, at::Tensor> computed,
                           std::map<std::string, at::Tensor> masks);

}  // namespace roll
