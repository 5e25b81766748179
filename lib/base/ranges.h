// Formats lists of whole numbers as ranges.
#pragma once

#include <string>
#include <vector>

namespace roll {

/// Returns ascending numbers as text, with runs of consecutive ones shortened: "0 to 3, 6" for 0, 1, 2, 3, 6.
std::string ranges_text(const std::vector<int>& numbers);

}  // namespace roll
