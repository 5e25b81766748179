#include "step/offloaded_weights.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "optim/allocated.h"

namespace roll {

TEST_CASE("weights that visit take room on their device only meanwhile, and are the same numbers", "[train]") {
  const test::Allocated allocated;  // the CPU is both host and device here
  const NamedTensors weights = {{"a", at::randn({300, 5})}, {"b", at::randn({7})}};
  const std::vector<at::Tensor> before = {weights[0].second.clone(), weights[1].second.clone()};
  const int64_t bytes = 4 * (1500 + 7), of_nan = 4, live = allocated.live();
  OffloadedWeights offloaded(weights);
  CHECK(allocated.live() == live + of_nan);  // at home, and nowhere else
  for (int visit = 0; visit < 2; ++visit) {
    {
      const auto here = offloaded.bring_to_device();
      CHECK(allocated.live() == live + bytes);
      CHECK((at::equal(weights[0].second, before[0]) && at::equal(weights[1].second, before[1])));
    }
    CHECK(allocated.live() == live + of_nan);
    CHECK(weights[0].second.isnan().all().item<bool>());
  }
}

}  // namespace roll
