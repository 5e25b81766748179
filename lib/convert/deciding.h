// Keys that no row knows: by the words of its name such a key may decide what is trained.
#pragma once

#include <string_view>

namespace roll {

/// True where a word of the name is one of losses, clips, KLs, advantages, adapters, frozen weights, quantisation,
/// masks, weights or schedules. Words end at everything but letters and digits.
bool decides_training(std::string_view name);

/// The same text, or the same number.
bool is_same(std::string_view value, std::string_view other);

/// False, zero, nothing, or the same as `standard`.
bool is_off(std::string_view value, std::string_view standard);

}  // namespace roll
