// Guesses from an unknown key's name whether it may affect training; such keys are refused (table.h).
#pragma once

#include <string_view>

namespace roll {

/// Returns true if a word of the name is about losses, clips, KLs, advantages, adapters, frozen weights, quantisation,
/// masks, weights or schedules. Words are runs of letters and digits.
bool decides_training(std::string_view name);

/// Returns true for equal texts or equal numbers.
bool is_same(std::string_view value, std::string_view other);

/// Returns true for false, zero, nothing, or the same value as `standard`.
bool is_off(std::string_view value, std::string_view standard);

}  // namespace roll
