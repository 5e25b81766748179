#include "train/throughput.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>

namespace roll {

TEST_CASE("training is counted with the lm head of wanted tokens only", "[train]") {
  const ModelSpec spec{.vocab_size = 1000,
                       .hidden_size = 8,
                       .intermediate_size = 16,
                       .num_layers = 2,
                       .num_heads = 2,
                       .num_kv_heads = 1,
                       .head_dim = 4};
  Experience step;
  step.tokens = pack_tokens({{1, 2, 3, 4, 5}, {6, 7, 8}});
  step.masks["response_mask"] = at::tensor({0, 0, 1, 1, 0, 1, 0, 0}, at::kFloat);
  const double backbone = 3 * (spec.forward_flops(5, 0) + spec.forward_flops(3, 0));
  CHECK(training_flops(step, spec, false) == backbone);
  CHECK(training_flops(step, spec, true) == backbone + 3 * 3 * 2.0 * 1000 * 8);
}

}  // namespace roll
