// Lists of whole numbers as ranges.
#pragma once

#include <string>
#include <vector>

namespace roll {

/// "0 to 3, 6" of ascending numbers.
std::string ranges_text(const std::vector<int>& numbers);

}  // namespace roll
