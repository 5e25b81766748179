// All keys of a configuration.
#pragma once

#include <vector>

#include "config/key_reference.h"

namespace roll {

/// Of `roll train`, and of `roll sft`.
std::vector<SharedKey> rlvr_keys();
std::vector<SharedKey> sft_keys();
/// Of both, what they say alike once.
std::vector<SharedKey> all_keys();

}  // namespace roll
