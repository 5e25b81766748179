// Whether rows can be looked at on this machine.
#pragma once

#include <string>

#include "data/config.h"

namespace roll {

/// Why the rows cannot be: the model's folder, its tokenizer or a data file is not here; "" where they can. UserError:
/// a data file is not here, unless `offline`.
std::string missing_part(const std::string& model, const DataArgs& data, bool offline);

}  // namespace roll
