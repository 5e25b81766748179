// What `offload` moves between a GPU and the host; runs where a GPU is (scripts/gpu_check.sh).
#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "machine/device_speed.h"
#include "model/device.h"
#include "optim/optimizer.h"
#include "step/roles.h"

namespace roll {

namespace {

NamedTensors two_parameters(at::ScalarType dtype) {
  const auto options = at::TensorOptions().device(at::kCUDA).dtype(dtype);
  return {{"matrix", at::full({512, 1024}, 0.5, options).requires_grad_()},
          {"vector", at::full({1024}, 0.25, options).requires_grad_()}};
}

}  // namespace

TEST_CASE("an optimizer on a GPU comes back from the host as it was", "[gpu]") {
  const auto dtype = GENERATE(at::kFloat, at::kBFloat16);
  const bool keeps_parameters = GENERATE(true, false);
  const NamedTensors stayed = two_parameters(dtype), moved = two_parameters(dtype);
  FlatAdamW a(stayed, {}), b(moved, {});
  for (int step = 0; step < 3; ++step) {
    for (auto [optimizer, parameters] : {std::pair{&a, &stayed}, std::pair{&b, &moved}}) {
      optimizer->zero_grad();
      for (const auto& [name, p] : *parameters) (p * p).sum().backward();
      optimizer->step(1e-2, std::sqrt(optimizer->squared_gradient().item<double>()), 1.0);
    }
    const int64_t before = free_device_bytes(at::kCUDA);
    b.offload(keeps_parameters);
    CHECK(free_device_bytes(at::kCUDA) > before);
    CHECK(moved[0].second.is_cuda() == keeps_parameters);
    b.reload();
    CHECK(moved[0].second.is_cuda());
  }
  for (size_t i = 0; i < stayed.size(); ++i) CHECK(at::equal(stayed[i].second, moved[i].second));
}

TEST_CASE("parameters move to the host and back", "[gpu]") {
  const NamedTensors parameters = two_parameters(at::kBFloat16);
  const at::Tensor held = parameters[0].second;
  move_parameters(parameters, at::kCPU);
  CHECK(held.is_cpu());
  move_parameters(parameters, at::kCUDA);
  CHECK((held.is_cuda() && held.sum().item<float>() == 512 * 1024 * 0.5f));
}

TEST_CASE("a GPU's matrix products are measured", "[gpu]") {
  CHECK(measure_matmul_peak(at::kCUDA, at::kBFloat16) > 1e12);
}

}  // namespace roll
