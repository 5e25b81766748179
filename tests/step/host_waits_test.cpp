// When the host waits for the device in training, on a device that counts it (ops/fake_device.h).
#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "job/join.h"
#include "loss/losses.h"
#include "model/log_probs.h"
#include "ops/fake_device.h"
#include "step/role_losses.h"
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
  Experience e = make_experience(samples);
  const at::Tensor& mask = e.response_mask();
  e.masks["final_response_mask"] = mask.clone();
  e.masks["positive_response_mask"] = mask * 0.0;
  e.advantages = at::randn(mask.sizes()) * mask;
  e.old_log_probs = -at::rand(mask.sizes()) * mask;
  e.ref_log_probs = e.old_log_probs.clone();
  e.values = e.returns = e.advantages;
  return e;
}

UpdatePlan two_updates(const Experience& step, const std::vector<std::string>& masks) {
  return {.settings = {.prefix = "test", .loss_mask = masks.front(), .counted_masks = masks},
          .rule = {.num_sequences = 2},
          .mini_batches = {{0, 1, 2, 3}, {4, 5, 6, 7}},
          .sizes = lengths_of(step),
          .num_groups = 4,
          .device = test::fake_device()};
}

/// Trains on two updates of two micro-batches each; what the device was asked for.
test::DeviceCounts train(const NamedTensors& parameters, const std::vector<std::string>& masks,
                         const MicroBatchLoss<Experience>& loss, Metrics* metrics = nullptr) {
  const auto one = make_communicator({.kind = Transport::kSingle});
  Mesh mesh(*one, {});
  const Experience step = eight_sequences();
  Learner learner("test", parameters, {.schedule = {.type = LrScheduleType::kConstant, .peak_lr = 1e-3}}, *one);
  test::take_device_counts();
  const Metrics found = run_updates(step, two_updates(step, masks), learner, mesh, loss);
  if (metrics) *metrics = found;
  return test::take_device_counts();
}

}  // namespace

TEST_CASE("training an actor waits for its device once an update", "[train]") {
  at::manual_seed(1);
  const bool recompute = GENERATE(false, true);
  const auto policy = GENERATE("ppo", "gmpo", "topr");
  CAPTURE(recompute, policy);
  const Transformer model = Transformer::init(tiny_spec(), 1, test::fake_device());
  LossSettings settings;
  settings.policy.pg_variant = Chosen<PolicyLossKind>(policy);
  const ActorLoss actor_loss({.built_in = settings});
  Metrics metrics;
  const test::DeviceCounts counts = train(
      model.parameters(), {"final_response_mask", "response_mask"},
      [&](const Experience& e, const MiniBatchCounts& of_masks) {
        const auto computed = token_log_probs(model, e.tokens, 1.0, true, recompute, e.host_mask("response_mask"));
        return actor_loss(e, computed, of_masks);
      },
      &metrics);
  for (const auto& [name, times] : counts.waits) UNSCOPED_INFO(name << " waits " << times << " times");
  CHECK(test::DeviceCounts::sum(counts.waits) == 2);
  for (const auto& [name, times] : counts.copies_in) UNSCOPED_INFO(name << " sends " << times << " times");
  CHECK(test::DeviceCounts::sum(counts.copies_in) <= 4 * 10);
}

TEST_CASE("training a critic waits for its device once an update", "[train]") {
  at::manual_seed(1);
  const NamedTensors parameters = {{"w", at::ones({1}).to(test::fake_device()).requires_grad_()}};
  const CriticLoss critic_loss({});
  const test::DeviceCounts counts =
      train(parameters, {"response_mask"}, [&](const Experience& e, const MiniBatchCounts& of_masks) {
        return critic_loss(e, e.returns * parameters[0].second, of_masks);
      });
  CHECK(test::DeviceCounts::sum(counts.waits) == 2);
}

}  // namespace roll
