// Checks a configuration that is not yet a file, for `roll convert-config`.
#pragma once

#include <string>

#include "settings/load_config.h"

namespace roll {

/// Checks the text as load_config() would for `command`: "train", "sft" or "dpo". UserError: load_config() would reject
/// it; messages call the text `origin`.
void check_config_text(const std::string& command, const std::string& yaml, const std::string& origin,
                       const LoadOptions& options);

}  // namespace roll
