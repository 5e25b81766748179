// Units of measurement behind an answer: they are dropped where values are compared, but two that differ make answers
// differ.
#pragma once

#include <string>
#include <string_view>

namespace roll::math {

/// "cm" of "5 \text{ centimeters}^2"; "" where no unit that is known here ends the text.
std::string unit_of(std::string_view text);

}  // namespace roll::math
