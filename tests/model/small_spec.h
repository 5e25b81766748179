// A model that is small enough to go through number by number.
#pragma once

#include "model/spec.h"

namespace roll::test {

/// 4 heads of size 2 over 2 key/value heads; vocabulary 10 and inner size 6 are no multiples of 4. Biases of queries,
/// keys and values, whose heads have norms.
inline ModelSpec small_spec() {
  return {.vocab_size = 10,
          .hidden_size = 8,
          .intermediate_size = 6,
          .num_layers = 1,
          .num_heads = 4,
          .num_kv_heads = 2,
          .head_dim = 2,
          .qkv_bias = true,
          .qk_norm = true};
}

}  // namespace roll::test
