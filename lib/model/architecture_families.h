// Rows of the table of architectures (architectures.h) that lie in other files than architectures.cpp.
#pragma once

#include <string>
#include <vector>

#include "model/architectures.h"

namespace roll {

/// Dense models beyond those in architectures.cpp.
Architectures further_dense();
/// Mixtures of experts beyond those in architectures.cpp.
Architectures further_mixtures();
/// Multimodal folders whose language models are rows of `rows`.
Architectures multimodal(const Architectures& rows);

/// Makes the row of a multimodal folder: the language model beside other models with these name prefixes.
Architecture beside_others(Architecture row, const std::vector<std::string>& others);

}  // namespace roll
