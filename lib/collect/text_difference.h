// First difference of two texts that should be equal, for error messages of agent_history and turn_tokens.
#pragma once

#include <cstddef>
#include <string>

namespace roll {

struct TextDifference {
  size_t at = 0;              // bytes in common at the start
  std::string before, after;  // following text of each, as JSON, or "the end"
};

TextDifference first_difference(const std::string& before, const std::string& after);

}  // namespace roll
