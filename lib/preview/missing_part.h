// Checks whether the model's tokenizer and the data files are on this machine, for previews that can do without them.
#pragma once

#include <string>

#include "data/config.h"

namespace roll {

/// Returns a clause such as "DIR/tokenizer.json does not exist" if the tokenizer of `model` (a folder or Hub name) is
/// missing; "" if it is there.
std::string missing_tokenizer(const std::string& model);

/// Returns such a clause if the tokenizer is missing, or if `offline` is true and a file of data.file_name is missing;
/// "" if the rows can be read. Throws UserError if a data file is missing and `offline` is false.
std::string missing_part(const std::string& model, const DataArgs& data, bool offline);

}  // namespace roll
