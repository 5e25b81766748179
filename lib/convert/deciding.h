// Judges keys of other trainers by name and value, for Conversion (table.h). It refuses an unknown key that may affect
// training, unless the key's value has no effect.
#pragma once

#include <string_view>

namespace roll {

/// Returns true if a word of the name ("kl" in "actor.kl_target") is about losses, clips, KLs, advantages, rewards,
/// adapters, frozen weights, quantisation, masks or optimizers (list in deciding.cpp). Words are runs of letters and
/// digits; case is ignored.
bool decides_training(std::string_view name);

/// Returns true if both texts are equal, or both are numbers of equal value ("1" and "1.0").
bool is_same(std::string_view value, std::string_view other);

/// Returns true if a key with this value has no effect. Such values are false, no, 0, null, None, the empty text, list
/// and mapping, and `default_value` (by is_same()).
bool is_off(std::string_view value, std::string_view default_value);

}  // namespace roll
