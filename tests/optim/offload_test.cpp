// What `offload` moves, on the fake device: by copies that nobody waits for, in page-locked memory of which little is
// lost, and to the bit.
#include <ATen/ATen.h>

#include <bit>
#include <catch2/catch.hpp>

#include "ops/fake_device.h"
#include "optim/optimizer.h"
#include "step/offloaded_weights.h"

namespace roll {

namespace {

NamedTensors parameters_on(at::Device device, at::ScalarType dtype) {
  NamedTensors parameters;
  for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{{301, 250}, {7}, {250, 301}})
    parameters.emplace_back(fmt::format("p{}", parameters.size()),
                            at::sin(at::arange(c10::multiply_integers(shape), at::kFloat))
                                .to(dtype)
                                .view(shape)
                                .to(device)
                                .requires_grad_());
  return parameters;
}

void train_once(const NamedTensors& parameters, FlatOptimizer& optimizer) {
  optimizer.zero_grad();
  for (const auto& [name, p] : parameters) (p * p).sum().backward();
  optimizer.step(1e-2, 1.0, 0.5);
}

std::vector<at::Tensor> numbers_of_all(const NamedTensors& parameters, const FlatOptimizer& optimizer) {
  std::vector<at::Tensor> found;
  for (const auto& [name, p] : parameters) found.push_back(p.detach().cpu());
  for (const StatePiece& piece : optimizer.state_pieces())
    for (const auto& [name, state] : piece.states) found.push_back(state.cpu());
  return found;
}

}  // namespace

TEST_CASE("training that goes to the host and comes back each step is the same to the bit, and waits for no copy",
          "[train]") {
  const auto dtype = GENERATE(at::kFloat, at::kBFloat16);
  const bool keeps_parameters = GENERATE(true, false);
  const at::Device device = test::fake_device();
  const NamedTensors stayed = parameters_on(device, dtype), moved = parameters_on(device, dtype);
  FlatOptimizer a(stayed, {.weight_decay = 0.1}), b(moved, {.weight_decay = 0.1});
  const int64_t numel = b.layout().total, states = b.state_bytes();
  for (int step = 0; step < 3; ++step) {
    train_once(stayed, a);
    train_once(moved, b);
    const int64_t live = test::live_device_bytes();
    const auto element = static_cast<int64_t>(c10::elementSize(dtype)), own = keeps_parameters ? 0 : numel * element;
    test::take_device_counts();
    b.offload(keeps_parameters);
    const test::DeviceCounts away = test::take_device_counts();
    CHECK(test::live_device_bytes() == live - states - 4 * numel - own + (keeps_parameters ? 0 : element));
    CHECK(moved[0].second.detach().cpu().isnan().all().item<bool>() == !keeps_parameters);
    CHECK(test::pinned_bytes() <= static_cast<int64_t>(1.04 * static_cast<double>(states + own)));
    test::take_device_counts();
    b.reload();
    const test::DeviceCounts back = test::take_device_counts();
    CHECK(away.waits.empty());
    CHECK(back.waits.empty());
    CHECK(test::DeviceCounts::sum(away.copies_out) <= 2 * 70);
    CHECK(back.copies_in == away.copies_out);
    CHECK(test::live_device_bytes() == live);
    if (step == 1) {  // once more, with nothing between
      b.offload(keeps_parameters);
      b.reload();
    }
  }
  const auto expected = numbers_of_all(stayed, a), found = numbers_of_all(moved, b);
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) CHECK(at::equal(found[i], expected[i]));
}

TEST_CASE("blocks of page-locked memory lose at most a few percent", "[device]") {
  for (const int64_t bytes : {int64_t{1} << 20, (int64_t{1} << 20) + 1, int64_t{3'000'000'001}, int64_t{15'231'233'024},
                              (int64_t{1} << 34) + 12, int64_t{100'000'000'000}}) {
    const int64_t block = host_block_bytes(bytes), left = bytes % block;
    const int64_t taken = bytes / block * block + (left ? static_cast<int64_t>(std::bit_ceil(uint64_t(left))) : 0);
    CAPTURE(bytes, block);
    CHECK(std::has_single_bit(static_cast<uint64_t>(block)));
    CHECK(static_cast<double>(taken) <= 1.032 * static_cast<double>(bytes));
    CHECK(bytes / block <= 64);
  }
}

TEST_CASE("visiting weights come in copies that nobody waits for", "[train]") {
  const NamedTensors weights = parameters_on(test::fake_device(), at::kBFloat16);
  std::vector<at::Tensor> before;
  for (const auto& [name, tensor] : weights) before.push_back(tensor.detach().cpu());
  const int64_t pinned = test::pinned_bytes();
  test::take_device_counts();
  OffloadedWeights offloaded(weights);
  CHECK(test::pinned_bytes() - pinned <= 1.04 * 2 * (2 * 301 * 250 + 7));
  for (int visit = 0; visit < 2; ++visit) {
    const auto here = offloaded.bring_to_device();
    CHECK(test::take_device_counts().waits.empty());
    for (size_t i = 0; i < before.size(); ++i) CHECK(at::equal(weights[i].second.cpu(), before[i]));
    test::take_device_counts();
  }
}

}  // namespace roll
