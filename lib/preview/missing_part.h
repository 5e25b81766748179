// Whether rows can be looked at on this machine.
#pragma once

#include <string>

#include "data/config.h"

namespace roll {

/// Why nothing can be tokenised: the model's folder or its tokenizer is not here; "" where it can.
std::string missing_tokenizer(const std::string& model);

/// Why the rows cannot be: the model's folder, its tokenizer or a data file is not here; "" where they can. UserError:
/// a data file is not here, unless `offline`.
std::string missing_part(const std::string& model, const DataArgs& data, bool offline);

}  // namespace roll
