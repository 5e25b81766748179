// Checks a text that is no file yet.
#pragma once

#include <string>

#include "settings/load_config.h"

namespace roll {

/// Checks a text that `roll train`, `roll sft` or `roll dpo` (`command`) would read, as load_config() does. UserError:
/// it would refuse the text, which messages call `origin`.
void check_config_text(const std::string& command, const std::string& yaml, const std::string& origin,
                       const LoadOptions& options);

}  // namespace roll
