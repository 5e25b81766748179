// Checks the text of a configuration that is not yet a file, for `roll convert-config`.
#pragma once

#include <string>

#include "settings/load_config.h"

namespace roll {

/// Throws UserError if `command` ("train", "sft" or "dpo") would reject a configuration file with the text `yaml`.
/// Messages name `origin` where they would name the file.
void check_config_text(const std::string& command, const std::string& yaml, const std::string& origin,
                       const LoadOptions& options);

}  // namespace roll
