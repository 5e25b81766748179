// What tensor ranks that sample ask of NCCL, on one card, and on two where there are.
#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <iostream>

#include "checkpoint/temporary_folder.h"
#include "device/device_graph.h"
#include "dist/single.h"
#include "dist/thread_ranks.h"
#include "model/device.h"
#include "model/telling_model.h"
#include "rollout/simulated_steps.h"
#include "rollout/step_model.h"
#include "transport/nccl_communicator.h"

namespace roll {

namespace {

constexpr double kPatience_s = 60;

/// On the CPU.
Transformer whole_model() {
  InitSizes sizes;
  sizes.arch = "qwen3", sizes.vocab = 501, sizes.hidden = 64, sizes.layers = 2, sizes.heads = 4;
  sizes.kv_heads = 2, sizes.intermediate = 128, sizes.head_dim = 16;
  return test::telling_model(sizes);
}

}  // namespace

TEST_CASE("what a step of tensor ranks asks of NCCL is recorded and replayed, on one rank", "[gpu]") {
  const at::Device device(at::kCUDA, 0);
  const auto ranks = make_nccl_communicator(make_single_communicator({}), device, kPatience_s);
  REQUIRE(ranks->kind() == "nccl");
  at::Tensor sums = at::ones({8, 16}, device);
  const at::Tensor logits = at::ones({4, 12}, device), whole = at::zeros_like(logits);
  const at::Tensor drawn = at::ones({64}, logits.options().dtype(at::kByte)), all = at::zeros_like(drawn);
  const auto step = [&] {
    ranks->all_reduce_sum(sums, "activations");
    ranks->start_all_to_all(logits, whole, "logits")->wait();
    ranks->start_all_gather(drawn, all, "drawn tokens")->wait();
  };
  step();
  const auto graph = make_graph_recorder(device)->record(step);
  logits.fill_(7), drawn.fill_(9), sums.fill_(3);
  graph->replay();
  CHECK(at::equal(whole, logits));
  CHECK(at::equal(all, drawn));
  CHECK(sums.eq(3).all().item<bool>());
}

TEST_CASE("tensor ranks on two cards give the CPU's responses over NCCL", "[gpu]") {
  if (num_cuda_devices() < 2) {
    std::cerr << "skipped: tensor ranks over NCCL want two cards, and here is one\n";
    return;
  }
  const Transformer whole = whole_model();
  const test::TemporaryFolder folder;
  whole.save(folder / "m", {});
  const SamplingParams params = test::sampling_params();
  const auto requests = test::grouped_requests(20);
  const EngineLimits limits{.num_slots = 7, .max_length = 128};
  const auto expected = generate_with(*make_step_model(whole, limits), requests, params);
  std::vector<std::vector<Generation>> found(2);
  run_thread_ranks(
      2,
      [&](Communicator& host) {
        const at::Device device(at::kCUDA, static_cast<c10::DeviceIndex>(host.rank()));
        use_device(device);
        const auto tp = make_nccl_communicator(host.split({0, 1}, "tp"), device, kPatience_s);
        const Transformer part = Transformer::load(folder / "m", device, at::kFloat, {.tp = tp.get()});
        found[host.rank()] = generate_with(*make_step_model(part, limits), requests, params);
      },
      ThreadPace::kTogether);
  test::require_same(found[0], expected, 1e-4);
  test::require_same(found[1], found[0], 0);
}

}  // namespace roll
