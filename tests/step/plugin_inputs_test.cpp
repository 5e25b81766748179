#include "step/plugin_inputs.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include "experience/sample.h"

namespace roll {

TEST_CASE("a plug-in sees the weights of sequences, where there are any", "[train]") {
  Experience e = make_experience({{{1}, {2, 2}, 0, 0, 1, false}, {{1}, {2}, 1, 1, 0, false}});
  CHECK_FALSE(plugin_inputs(e, {}).tensors.contains("sample_weights"));
  e.sample_weights = {0.5, 1.5};
  CHECK(at::equal(plugin_inputs(e, {}).tensors.at("sample_weights"), at::tensor({.5, .5, .5, 1.5, 1.5}, at::kFloat)));
  CHECK(plugin_inputs(e, {}).scores == std::vector<double>{1, 0});
}

}  // namespace roll
