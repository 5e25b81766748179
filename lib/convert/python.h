// Reads settings from a Python script: the keywords of GRPOConfig(...) and of the trainer that takes it.
//
// Reads constants, simple arithmetic, f-strings and names that are assigned such a value once. Runs nothing; other
// values are reported as unknown. If the settings come from the command line, reads the commands in the script's first
// docstring.
#pragma once

#include <string>
#include <string_view>

#include "convert/launch.h"

namespace roll {

/// Returns one launch per call of a known config class (GRPOConfig, TrainingArguments, ...). UserError: `text` is no
/// text.
ForeignScript read_python(std::string_view text, const std::string& origin, const shell::Reading& reading);

}  // namespace roll
