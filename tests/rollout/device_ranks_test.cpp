// The device's steps of tensor ranks, which are threads, with kernels run by simulated lanes.
#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "checkpoint/temporary_folder.h"
#include "decode/device_decoder.h"
#include "device/fake_recorder.h"
#include "dist/mesh.h"
#include "dist/thread_ranks.h"
#include "model/telling_model.h"
#include "ops/fake_device.h"
#include "rollout/simulated_steps.h"

namespace roll {

using test::grouped_requests;
using test::require_same;
using test::sampling_params;
using test::simulated;
using test::StepSizes;

namespace {

/// Biases of all products (llama), norms of queries and keys (qwen3), experts beside a shared one (qwen2_moe) or none
/// of these; 61 tokens, which no ranks share evenly.
Transformer model_of(const char* arch, int64_t heads, int64_t kv_heads, int64_t intermediate = 48,
                     int64_t expert_intermediate = 16) {
  InitSizes sizes;
  sizes.arch = arch, sizes.vocab = 61, sizes.hidden = 32, sizes.layers = 2, sizes.heads = heads;
  sizes.kv_heads = kv_heads, sizes.intermediate = intermediate, sizes.head_dim = 8;
  if (std::string_view(arch) == "qwen2_moe") sizes.experts = 5, sizes.expert_intermediate = expert_intermediate;
  return test::telling_model(sizes);
}

/// body(rank, its part of the model) on `tp` ranks.
void run_tensor_ranks(const Transformer& whole, int tp, at::Device device,
                      const std::function<void(int, const Transformer&)>& body) {
  const test::TemporaryFolder folder;
  whole.save(folder / "m", {});
  run_thread_ranks(tp, [&](Communicator& world) {
    Mesh mesh(world, {.tp = tp});
    body(world.rank(), Transformer::load(folder / "m", device, whole.dtype(), {.tp = &mesh.tp()}));
  });
}

/// Some with penalties, filters and biases of tokens on both ranks.
std::vector<GenerationRequest> varied_requests(const SamplingParams& params) {
  auto requests = grouped_requests(20);
  for (size_t i = 0; i < requests.size(); ++i) {
    SamplingSettings own = params.generating;
    if (i % 3 == 1) own.repetition_penalty = 1.3, own.frequency_penalty = 0.4;
    if (i % 5 == 1) own.logit_bias = {{5, 3.0}, {30, -2.0}, {31, 1.0}, {60, 1.0}};
    if (i % 4 == 1) own.top_p = 0.8;
    if (i % 4 == 2) own.top_k = 7;
    if (i % 7 == 1) own.temperature = 0;
    requests[i].generating = own;
  }
  return requests;
}

}  // namespace

TEST_CASE("tensor ranks give the tokens and log-probs of one rank, recorded, evicted and forked", "[rollout]") {
  const auto [tp, arch, heads, kv_heads] = GENERATE(table<int, const char*, int64_t, int64_t>(
      {{2, "llama", 4, 2}, {2, "qwen2", 4, 1}, {3, "qwen3", 6, 3}, {2, "qwen2_moe", 4, 2}}));
  const Transformer whole = model_of(arch, heads, kv_heads);
  SamplingParams params = sampling_params();
  params.generating.max_new_tokens = 8;
  const auto requests = varied_requests(params);
  const StepSizes sizes{.num_slots = 6, .num_pages = 30, .max_rows = 20};
  const auto expected = generate_with(*simulated(whole, sizes), requests, params);
  std::vector<std::vector<Generation>> found(tp);
  std::vector<FakeGraphs> graphs(tp);
  run_tensor_ranks(whole, tp, at::kCPU, [&](int rank, const Transformer& part) {
    ROLL_CHECK(has_device_kernels(part), "the device decodes parts of models");
    found[rank] = generate_with(*simulated(part, sizes, nullptr, graphs[rank].recorder()), requests, params);
  });
  CAPTURE(tp, arch);
  for (int rank = 0; rank < tp; ++rank) {
    require_same(found[rank], expected, 1e-5);
    require_same(found[rank], found[0], 0);  // the same logits, to the bit
    CHECK(graphs[rank].recorded == graphs[0].recorded);
    CHECK(graphs[rank].replayed > 2 * graphs[rank].recorded);
  }
}

TEST_CASE("nothing of a decoding step of tensor ranks comes to the host but its tokens", "[rollout]") {
  const Transformer whole = model_of("llama", 4, 2);
  const SamplingParams params = sampling_params();
  test::DeviceCounts counts;
  std::vector<std::string> log;
  run_tensor_ranks(whole, 2, test::fake_device(), [&](int rank, const Transformer& part) {
    const auto steps = simulated(part, {.num_slots = 2}, rank == 0 ? &log : nullptr);
    const std::vector<int64_t> prompt = {5, 6, 7};
    const StepPlan decoding{.copies = {}, .pieces = {}, .decoding = {{.slot = 0}, {.slot = 1}}};
    steps->launch(test::seat_prompts(*steps, 2, prompt));
    steps->launch(decoding), steps->collect();
    steps->collect();
    part.parallel().tp->barrier("all have begun");
    if (rank == 0) test::take_device_counts(), log.clear();
    part.parallel().tp->barrier("what was asked for is forgotten");
    for (int i = 0; i < 3; ++i) steps->launch(decoding), steps->collect();
    part.parallel().tp->barrier("all have decoded");
    if (rank == 0) counts = test::take_device_counts();
  });
  const auto layers = static_cast<size_t>(whole.spec().num_layers);
  CHECK(log.size() == 3 * (9 * layers + 8));  // and the norm of the embeddings' sum, and what others drew
  CHECK(test::DeviceCounts::sum(counts.copies_in) == 0);
  CHECK(test::DeviceCounts::sum(counts.waits) == 2 * 3);  // of each rank, in each step: what was drawn
}

TEST_CASE("tensor ranks that share an MLP or experts unevenly are not for the device's kernels", "[rollout]") {
  // 22 or 12 a rank
  const Transformer whole = GENERATE(true, false) ? model_of("llama", 4, 2, /*intermediate=*/44)
                                                  : model_of("qwen2_moe", 4, 2, 48, /*expert_intermediate=*/24);
  CHECK(has_device_kernels(whole));
  run_tensor_ranks(whole, 2, at::kCPU, [&](int, const Transformer& part) {
    ROLL_CHECK(!has_device_kernels(part), "vectors of 16 bytes do not fit");
  });
}

}  // namespace roll
