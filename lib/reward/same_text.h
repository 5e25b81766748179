// Equality of texts for rules that read no mathematics.
#pragma once

#include <string>
#include <string_view>

namespace roll {

constexpr char ascii_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

/// Without white space at both ends.
std::string stripped(std::string_view text);

/// Why nothing equals a blank ground truth.
constexpr const char* kNoGroundTruth = "the row has no ground_truth";

/// Whether both are equal once stripped. `ignore_case` is about ASCII letters only, which needs no locale.
bool same_text(std::string_view a, std::string_view b, bool ignore_case);

}  // namespace roll
