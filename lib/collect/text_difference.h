// First difference of two texts that should be equal, for error messages of agent_history and turn_tokens.
#pragma once

#include <cstddef>
#include <string>

namespace roll {

struct TextDifference {
  size_t at = 0;       // length of the common beginning, in bytes
  std::string before;  // the next 40 bytes of the first text as a JSON string, or "the end"
  std::string after;   // the same for the second text
};

/// Compares two texts; equal ones give "the end" twice.
TextDifference first_difference(const std::string& before, const std::string& after);

}  // namespace roll
