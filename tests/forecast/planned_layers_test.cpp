// Planned ranks that gather layers in an update against ranks that do: as many collectives, of as many bytes.
#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <map>

#include "dist/local_ranks.h"
#include "forecast/planned_ranks.h"
#include "model/log_probs.h"
#include "model/some_ids.h"
#include "model/transformer.h"
#include "optim/learner.h"
#include "settings/placement.h"

namespace roll {

namespace {

constexpr int kLayers = 4, kThreadRanks = 3, kMicro_batches = 2;

void update(Transformer& model, Communicator& ranks, const Recomputation& recompute) {
  Learner learner("test", model.trained(), {.gathers_layers = true}, ranks);
  model.backbone().use_store(learner.layer_store());
  learner.update(kMicro_batches, [&](int64_t k) {
    const TokenLogProbs found =
        token_log_probs(model, pack_tokens({test::some_ids(5 + k, k)}), 1.0, /*with_entropy=*/false, recompute);
    return MicroLoss(found.log_probs.sum().to(at::kFloat));
  });
}

std::string text_of(const std::string& key, int64_t calls, int64_t bytes) {
  return fmt::format("{}: {} x {}; ", key.substr(key.rfind('/') + 1), calls, bytes);
}

/// Of the first rank.
std::string sent_by_run(const ModelSpec& spec, const Recomputation& recompute) {
  return test::run_local_ranks(kThreadRanks, [&](Communicator& ranks) {
    Transformer model = Transformer::init(spec, 1);
    ranks.traffic().take();
    update(model, ranks, recompute);
    std::string text;
    for (const auto& [key, count] : ranks.traffic().take()) text += text_of(key, count.calls, count.bytes);
    ranks.barrier("rank 0 holds the store until all have met");
    return text;
  })[0];
}

std::string sent_by_plan(const ModelSpec& spec, const Recomputation& recompute) {
  std::string text;
  const PlannedWorld world = {
      .requested_rank = all_ranks(kThreadRanks), .num_requested = kThreadRanks, .running = all_ranks(kThreadRanks)};
  run_planned_ranks(
      world, [](Communicator&) {}, [](int, std::string_view) { return std::string(); },
      [&](int rank, Communicator& ranks, RankTraffic& traffic) {
        Transformer model = Transformer::planned(spec, at::kFloat, {});
        update(model, ranks, recompute);
        for (const auto& [key, moved] : traffic.moved)
          if (rank == 0) text += text_of(key, moved.calls, moved.sent.bytes);
      });
  return text;
}

}  // namespace

TEST_CASE("ranks that gather layers are planned to send what they send", "[preview]") {
  const ModelSpec spec = {.vocab_size = 71,
                          .hidden_size = 20,
                          .intermediate_size = 26,
                          .num_layers = kLayers,
                          .num_heads = 4,
                          .num_kv_heads = 2,
                          .head_dim = 6,
                          .tied_head = true};
  const int64_t again = GENERATE(0, 1, 3, 4), together = GENERATE(1, 2);
  CAPTURE(again, together);
  const std::string plan = sent_by_plan(spec, {.layers = again, .together = together});
  CHECK(plan == sent_by_run(spec, {.layers = again, .together = together}));
  // Each micro-batch gathers a layer once, or twice where it is computed twice; between updates all are whole. One
  // bucket of matrices besides, the embedding, and one of vectors are the optimizer's.
  CHECK(plan.find(fmt::format("all_gather: {} x", kMicro_batches * (kLayers + again) + kLayers + 2)) == 0);
  CHECK(plan.find(fmt::format("reduce_scatter: {} x", kMicro_batches * kLayers + 2)) != std::string::npos);
}

}  // namespace roll
