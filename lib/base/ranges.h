// Many whole numbers in a few words.
#pragma once

#include <string>
#include <vector>

namespace roll {

/// "0 to 3, 6" of ascending numbers.
std::string ranges_text(const std::vector<int>& numbers);

}  // namespace roll
