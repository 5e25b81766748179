// Reads a training's settings from a Python script, for `roll convert-config`: the keyword arguments of GRPOConfig(...)
// and of the GRPOTrainer(...) that takes it.
//
// Values may be constants, simple arithmetic, f-strings, and names that are assigned such a value once. Nothing is run;
// other values are marked unknown (ForeignKey::unknown). If the script has no config call because its settings come
// from the command line, reads the shell commands in its first docstring.
#pragma once

#include <string>
#include <string_view>

#include "convert/launch.h"

namespace roll {

/// Returns one launch per call of a known config class (GRPOConfig, TrainingArguments, ...), or the docstring's
/// commands. `origin` is the script's name in messages; `reading` is used for those commands. Throws UserError if
/// `text` is not UTF-8 text.
ForeignScript read_python(std::string_view text, const std::string& origin, const shell::Reading& reading);

}  // namespace roll
