// When the host waits for the device in training, on a device that counts it (ops/fake_device.h).
#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "job/join.h"
#include "loss/losses.h"
#include "model/log_probs.h"
#include "ops/fake_device.h"
#include "step/role_losses.h"
#include "step/trained_experience.h"
#include "step/updates.h"

namespace roll {

namespace {

ModelSpec tiny_spec() {
  return {.vocab_size = 16,
          .hidden_size = 8,
          .intermediate_size = 16,
          .num_layers = 2,
          .num_heads = 2,
          .num_kv_heads = 1,
          .head_dim = 4,
          .qkv_bias = true};
}

Experience eight_sequences() {
  std::vector<Sample> samples;
  for (int64_t i = 0; i < 8; ++i)
    samples.push_back({.prompt_ids = {1, 2},
                       .response_ids = std::vector<int64_t>(i + 1, 3),
                       .sequence_index = i,
                       .group_index = i / 2,
                       .score = static_cast<double>(i % 2)});
  Experience e = test::trained_experience(samples);
  e.masks["final_response_mask"].slice(0, 0, 8).zero_();
  return e;
}

struct Asked {
  std::vector<std::string> masks;  // that are counted
  std::vector<WeightRule> weights;
};

struct WatchedUpdates {
  test::DeviceCounts counts;  // what the device was asked for
  Metrics metrics;
};

/// Trains on two updates of two micro-batches each.
WatchedUpdates train(at::Device device, const NamedTensors& parameters, const Asked& asked,
                     const MicroBatchLoss<Experience>& loss) {
  const auto one = make_communicator({.kind = Transport::kSingle});
  Mesh mesh(*one, {});
  at::manual_seed(1);
  const Experience step = eight_sequences();
  Learner learner("test", parameters, {.schedule = {.type = LrScheduleType::kConstant, .peak_lr = 1e-3}}, *one);
  const UpdatePlan plan{.settings = {.prefix = "test",
                                     .loss_mask = asked.masks.front(),
                                     .counted_masks = asked.masks,
                                     .weights = asked.weights},
                        .rule = {.num_sequences = 2},
                        .mini_batches = {{0, 1, 2, 3}, {4, 5, 6, 7}},
                        .sizes = lengths_of(step),
                        .num_groups = 4,
                        .device = device};
  test::take_device_counts();
  const Metrics metrics = run_updates(step, plan, learner, mesh, loss);
  return {test::take_device_counts(), metrics};
}

}  // namespace

TEST_CASE("training an actor waits for its device once an update, and sends each micro-batch at once", "[train]") {
  const bool recompute = GENERATE(false, true);
  const auto policy = GENERATE("ppo", "gmpo", "topr");
  CAPTURE(recompute, policy);
  LossSettings settings;
  settings.policy.pg_variant = Chosen<PolicyLossKind>(policy);
  settings.modes.policy = AggMode::kTokenMean;
  const ActorLoss actor_loss({.built_in = settings});
  const auto on = [&](at::Device device) {
    const Transformer model = Transformer::init(tiny_spec(), 1, device);
    return train(device, model.parameters(), {{"final_response_mask", "response_mask"}, actor_weight_rules(settings)},
                 [&](const Experience& e, const MiniBatchCounts& of_masks) {
                   const at::Tensor wanted = e.host_mask("response_mask");
                   return actor_loss(e, token_log_probs(model, e.tokens, 1.0, true, recompute, wanted), of_masks);
                 });
  };
  const auto [counts, metrics] = on(test::fake_device());
  for (const auto& [name, times] : counts.waits) UNSCOPED_INFO(name << " waits " << times << " times");
  CHECK(test::DeviceCounts::sum(counts.waits) == 2);
  for (const auto& [name, times] : counts.copies_in) UNSCOPED_INFO(name << " sends " << times << " times");
  // What only these losses ask for, by sequence, comes in a copy of its own.
  const bool asks_by_sequence = std::string(policy) != "ppo";
  CHECK(test::DeviceCounts::sum(counts.copies_in) == 4 * (asks_by_sequence ? 2 : 1));
  const MetricValues found = metrics.values(), expected = on(at::kCPU).metrics.values();
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    if (found[i].first.starts_with("actor/")) {
      INFO(found[i].first);
      CHECK(found[i].second == Approx(expected[i].second).epsilon(1e-4).margin(1e-6));
    }
}

TEST_CASE("training a critic waits for its device once an update, and sends each micro-batch at once", "[train]") {
  const NamedTensors parameters = {{"w", at::ones({1}).to(test::fake_device()).requires_grad_()}};
  const CriticLoss critic_loss({});
  const auto [counts, metrics] = train(test::fake_device(), parameters, {{"response_mask"}, critic_weight_rules({})},
                                       [&](const Experience& e, const MiniBatchCounts& of_masks) {
                                         return critic_loss(e, e.returns * parameters[0].second, of_masks);
                                       });
  CHECK(test::DeviceCounts::sum(counts.waits) == 2);
  CHECK(test::DeviceCounts::sum(counts.copies_in) == 4);
}

}  // namespace roll
