// Settings that a Python script writes down: the keywords of GRPOConfig(...) and of the trainer that takes them.
//
// Goals: constants, simple arithmetic, f-strings and names that are set once to such. Nothing is run; what is more is
// unknown, and named. A script that takes its settings from its command line shows commands in its first text.
#pragma once

#include <string>
#include <string_view>

#include "convert/launch.h"

namespace roll {

/// One launch for each call of a class whose name ends with Config or TrainingArguments. UserError: bytes that are no
/// text.
ForeignScript read_python(std::string_view text, const std::string& origin, const shell::Reading& reading);

}  // namespace roll
