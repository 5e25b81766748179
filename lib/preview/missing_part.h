// Checks that the model's tokenizer and the data files are on this machine.
#pragma once

#include <string>

#include "data/config.h"

namespace roll {

/// Returns the reason why the tokenizer is missing (model folder or tokenizer.json), or "".
std::string missing_tokenizer(const std::string& model);

/// Returns the reason why rows cannot be read: model folder, tokenizer or data file is missing; else "". UserError: a
/// data file is missing and `offline` is false.
std::string missing_part(const std::string& model, const DataArgs& data, bool offline);

}  // namespace roll
