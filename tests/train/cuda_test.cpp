// What `offload` moves between a GPU and the host; runs where a GPU is (scripts/gpu_check.py).
#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "machine/device_speed.h"
#include "model/device.h"
#include "optim/optimizer.h"
#include "optim/split_adamw.h"
#include "step/roles.h"

namespace roll {

namespace {

NamedTensors two_parameters(at::ScalarType dtype) {
  const auto options = at::TensorOptions().device(at::kCUDA).dtype(dtype);
  return {{"matrix", at::full({512, 1024}, 0.5, options).requires_grad_()},
          {"vector", at::full({1024}, 0.25, options).requires_grad_()}};
}

}  // namespace

TEST_CASE("an optimizer on a GPU comes back from the host as it was", "[gpu][alone]") {
  const auto dtype = GENERATE(at::kFloat, at::kBFloat16);
  const bool keeps_parameters = GENERATE(true, false);
  const NamedTensors stayed = two_parameters(dtype), moved = two_parameters(dtype);
  FlatOptimizer a(stayed, {}), b(moved, {});
  for (int step = 0; step < 3; ++step) {
    for (auto [optimizer, parameters] : {std::pair{&a, &stayed}, std::pair{&b, &moved}}) {
      optimizer->zero_grad();
      for (const auto& [name, p] : *parameters) (p * p).sum().backward();
      optimizer->step(1e-2, std::sqrt(optimizer->squared_gradient().item<double>()), 1.0);
    }
    const int64_t before = unused_device_bytes(at::kCUDA).all();
    b.offload(keeps_parameters);
    CHECK(unused_device_bytes(at::kCUDA).all() > before);
    CHECK(moved[0].second.isnan().all().item<bool>() == !keeps_parameters);
    b.reload();
  }
  for (size_t i = 0; i < stayed.size(); ++i) CHECK(at::equal(stayed[i].second, moved[i].second));
}

TEST_CASE("weights wait on the host and visit a GPU", "[gpu]") {
  const NamedTensors parameters = two_parameters(at::kBFloat16);
  const at::Tensor held = parameters[0].second;
  OffloadedWeights offloaded(parameters);
  CHECK(held.isnan().all().item<bool>());
  {
    const auto here = offloaded.bring_to_device();
    CHECK((held.is_cuda() && held.sum().item<float>() == 512 * 1024 * 0.5f));
  }
  CHECK(held.isnan().all().item<bool>());
}

TEST_CASE("AdamW on halves of float32 masters is the same on a GPU and a CPU", "[gpu]") {
  const int64_t n = GENERATE(1, 4096, 100'003);
  const at::Tensor zeros = at::zeros({n});
  const SplitSlice on_cpu{at::randn({n}).to(at::kBFloat16), at::zeros({n}, at::kShort), at::randn({n}), zeros.clone(),
                          zeros.clone()};
  const auto moved = [](const at::Tensor& tensor) { return tensor.to(at::kCUDA); };
  const SplitSlice on_gpu{moved(on_cpu.high), moved(on_cpu.low), moved(on_cpu.gradient), moved(zeros), moved(zeros)};
  for (int64_t t = 1; t <= 3; ++t)
    for (const SplitSlice* slice : {&on_cpu, &on_gpu}) step_split(*slice, AdamWConfig(), 0.1, 1e-2, 1, t);
  CHECK(at::allclose(on_gpu.first_moment.cpu(), on_cpu.first_moment, 1e-5, 1e-7));
  CHECK(at::allclose(on_gpu.second_moment.cpu(), on_cpu.second_moment, 1e-5, 1e-9));
  CHECK(at::allclose(on_gpu.high.cpu().to(at::kFloat), on_cpu.high.to(at::kFloat), 1e-2, 1e-5));
}

TEST_CASE("memory of a GPU that the allocator keeps between tensors counts as unused", "[gpu][alone]") {
  const int64_t size = 2 << 20;  // several lie in a segment
  std::vector<at::Tensor> tensors;
  for (int i = 0; i < 64; ++i) tensors.push_back(at::empty({size}, at::TensorOptions(at::kCUDA).dtype(at::kByte)));
  const int64_t before = unused_device_bytes(at::kCUDA).all();
  for (size_t i = 0; i < tensors.size(); i += 2) tensors[i].reset();
  const UnusedBytes after = unused_device_bytes(at::kCUDA);
  CHECK(after.kept >= 32 * size);
  CHECK(after.all() - before == 32 * size);
}

TEST_CASE("a GPU's matrix products and memory are measured", "[gpu][alone]") {
  CHECK(measure_matmul_peak(at::kCUDA, at::kBFloat16) > 1e12);
  CHECK(measure_read_bandwidth(at::kCUDA, int64_t{1} << 30) > 1e11);
}

}  // namespace roll
