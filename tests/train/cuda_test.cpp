// What `offload` moves between a GPU and the host; runs where a GPU is (scripts/gpu_check.py).
#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "machine/device_speed.h"
#include "model/device.h"
#include "optim/accumulate_all.h"
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
      accumulate_all(*optimizer);
      optimizer->step(1e-2, std::sqrt(optimizer->squared_gradient()), 1.0);
    }
    const int64_t before = unused_device_bytes(at::kCUDA).all();
    b.offload(keeps_parameters);
    CHECK(unused_device_bytes(at::kCUDA).all() > before);
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

TEST_CASE("memory of a GPU that the allocator keeps between tensors counts as unused", "[gpu]") {
  const int64_t size = 2 << 20;  // several lie in a segment
  std::vector<at::Tensor> tensors;
  for (int i = 0; i < 64; ++i) tensors.push_back(at::empty({size}, at::TensorOptions(at::kCUDA).dtype(at::kByte)));
  const int64_t before = unused_device_bytes(at::kCUDA).all();
  for (size_t i = 0; i < tensors.size(); i += 2) tensors[i].reset();
  const UnusedBytes after = unused_device_bytes(at::kCUDA);
  CHECK(after.kept >= 32 * size);
  CHECK(after.all() - before == 32 * size);
}

TEST_CASE("a GPU's matrix products and memory are measured", "[gpu]") {
  CHECK(measure_matmul_peak(at::kCUDA, at::kBFloat16) > 1e12);
  CHECK(measure_read_bandwidth(at::kCUDA, int64_t{1} << 30) > 1e11);
}

}  // namespace roll
