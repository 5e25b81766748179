// Says of a model folder whose architecture is unknown which known one is nearest, and what differs.
#pragma once

#include <filesystem>
#include <string>

#include "base/json.h"
#include "model/architectures.h"

namespace roll {

/// Returns lines that compare config.json and the folder's tensors with the known architecture that has the most
/// similar tensors.
std::string explain_unknown(const Json& config, const std::filesystem::path& folder, const Architectures& known);

/// Returns true if config.json names an architecture that is not in `known`.
bool is_unknown(const Json& config, const Architectures& known);

/// Throws UserError with explain_unknown() if is_unknown(). `config`: the folder's config.json.
void check_architecture(const Json& config, const std::filesystem::path& folder, const Architectures& known);

}  // namespace roll
