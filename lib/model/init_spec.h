// The sizes of a new model, checked, with the defaults that follow from each other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/spec.h"

namespace roll {

struct InitSizes {
  std::string arch = architectures().front().name;
  int64_t hidden = 128, layers = 4, heads = 4;
  std::optional<int64_t> kv_heads, head_dim, intermediate, vocab;
  double rope_theta = 10000;
  int64_t max_positions = 32768;
  bool tie = true;
};

/// `needed_vocab`: the ids that a tokenizer uses, if there is one. UserErrors name flags.
ModelSpec make_spec(const InitSizes& sizes, std::optional<int64_t> needed_vocab);

}  // namespace roll
