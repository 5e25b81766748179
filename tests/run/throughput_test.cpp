#include "run/throughput.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include "experience/sample.h"

namespace roll {

TEST_CASE("training is counted with the lm head of wanted tokens only", "[train]") {
  const ModelSpec spec{.vocab_size = 1000,
                       .hidden_size = 8,
                       .intermediate_size = 16,
                       .num_layers = 2,
                       .num_heads = 2,
                       .num_kv_heads = 1,
                       .head_dim = 4};
  const Experience step =
      make_experience({{.prompt_ids = {1, 2, 3}, .response_ids = {4, 5}}, {.prompt_ids = {6, 7}, .response_ids = {8}}});
  const double backbone = 3 * (spec.forward_flops(5, 0) + spec.forward_flops(3, 0));
  CHECK(training_flops(step_facts(step), spec, false) == backbone);
  CHECK(training_flops(step_facts(step), spec, true) == backbone + 3 * 3 * 2.0 * 1000 * 8);
}

}  // namespace roll
