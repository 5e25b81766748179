// Where two texts that should be one part ways, for messages that name it.
#pragma once

#include <cstddef>
#include <string>

namespace roll {

struct TextDifference {
  size_t at = 0;              // characters that are alike
  std::string before, after;  // what each has there, as JSON, or "its end"
};

TextDifference first_difference(const std::string& before, const std::string& after);

}  // namespace roll
