// Formats lists of whole numbers as ranges.
#pragma once

#include <string>
#include <vector>

namespace roll {

/// Returns "0 to 3, 6" for ascending numbers.
std::string ranges_text(const std::vector<int>& numbers);

}  // namespace roll
