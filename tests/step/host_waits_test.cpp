// When the host waits for the device in training, on a device that counts it (ops/fake_device.h).
#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "checkpoint/temporary_folder.h"
#include "dist/mirror_ranks.h"
#include "experience/sample.h"
#include "job/join.h"
#include "loss/dpo.h"
#include "loss/losses.h"
#include "model/init_spec.h"
#include "model/log_probs.h"
#include "model/router_training.h"
#include "model/token_layout.h"
#include "ops/attention.h"
#include "ops/fake_device.h"
#include "packing/alignment.h"
#include "step/role_losses.h"
#include "step/roles.h"
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
  std::vector<WeightRule> weights{};
  bool has_reference = false;
  bool has_factors = false;  // signs of scores, and weights of sequences
};

struct WatchedUpdates {
  test::DeviceCounts counts;  // what the device was asked for
  Metrics metrics;
};

/// Trains on two updates of two micro-batches each, of which each has whole pairs.
Metrics train_on(Mesh& mesh, LearnerRanks ranks, at::Device device, const NamedTensors& parameters, const Asked& asked,
                 const MicroBatchLoss& loss) {
  at::manual_seed(1);
  Experience step = eight_sequences();
  if (asked.has_reference) step.ref_log_probs = at::zeros_like(step.response_mask());
  if (asked.has_factors) step.sample_weights = {1, 2, 0.5, 1, 1, 3, 1, 0.25};
  Learner learner("test", parameters, {.schedule = {.type = LrScheduleType::kConstant, .peak_lr = 1e-3}}, ranks);
  const UpdatePlan plan{
      .settings = {.prefix = "test",
                   .loss_mask = asked.masks.front(),
                   .counted_masks = asked.masks,
                   .weights = asked.weights,
                   .needs_signs = asked.has_factors},
      .rule = {.packing = {.share_prompts = asked.has_reference ? SharePrompts::kTrue : SharePrompts::kFalse},
               .num_sequences = 1,
               .sequences_per_row = 2},
      .mini_batches = {{0, 1, 2, 3}, {4, 5, 6, 7}},
      .sizes = batch_lengths(step),
      .num_groups = 4,
      .device = device};
  mesh.world().barrier("all may begin");
  test::take_device_counts();
  mesh.world().barrier("what was asked for is forgotten");
  const Metrics metrics = run_updates(step, plan, learner, mesh, loss);
  mesh.world().barrier("all have trained");
  return metrics;
}

/// On one rank.
WatchedUpdates train(at::Device device, const NamedTensors& parameters, const Asked& asked,
                     const MicroBatchLoss& loss) {
  const auto one = make_communicator({.kind = Transport::kSingle});
  Mesh mesh(*one, {});
  const Metrics metrics = train_on(mesh, *one, device, parameters, asked, loss);
  return {test::take_device_counts(), metrics};
}

void check_alike(const Metrics& found, const Metrics& expected, const std::string& prefix) {
  const MetricValues ours = found.values(), theirs = expected.values();
  REQUIRE(ours.size() == theirs.size());
  for (size_t i = 0; i < ours.size(); ++i)
    if (ours[i].first.starts_with(prefix)) {
      INFO(ours[i].first);
      CHECK(ours[i].second == Approx(theirs[i].second).epsilon(1e-4).margin(1e-6));
    }
}

}  // namespace

TEST_CASE("training an actor waits for its device once an update, and sends each micro-batch at once", "[train]") {
  const Recomputation recompute = GENERATE(Recomputation{}, kEveryLayer);
  const auto policy = GENERATE("ppo", "gmpo", "topr");
  CAPTURE(recompute.layers, policy);
  LossSettings settings;
  settings.policy.pg_variant = Chosen<PolicyLossKind>(policy);
  settings.modes.policy = AggMode::kTokenMean;
  const ActorLoss actor_loss({.built_in = settings});
  const auto on = [&](at::Device device) {
    const Transformer model = Transformer::init(tiny_spec(), 1, device);
    return train(device, model.parameters(),
                 {.masks = {"final_response_mask", "response_mask"},
                  .weights = actor_weight_rules(settings),
                  .has_factors = settings.policy.pg_variant->needs_sign},
                 [&](const Experience& e, const MiniBatchCounts& of_masks) {
                   const at::Tensor wanted = e.host_mask("response_mask");
                   return actor_loss(e, token_log_probs(model, e.tokens, 1.0, true, recompute, wanted), of_masks);
                 });
  };
  const auto [counts, metrics] = on(test::fake_device());
  for (const auto& [name, times] : counts.waits) UNSCOPED_INFO(name << " waits " << times << " times");
  CHECK(test::DeviceCounts::sum(counts.waits) == 2);
  for (const auto& [name, times] : counts.copies_in) UNSCOPED_INFO(name << " sends " << times << " times");
  CHECK(test::DeviceCounts::sum(counts.copies_in) == 4);
  check_alike(metrics, on(at::kCPU).metrics, "actor/");
}

TEST_CASE("a mixture of experts waits for its device once an update, also where routers are trained", "[train]") {
  const bool has_costs = GENERATE(false, true);
  InitSizes sizes;
  sizes.arch = "qwen3_moe", sizes.vocab = 16, sizes.hidden = 32, sizes.layers = 2, sizes.heads = 2, sizes.kv_heads = 1;
  sizes.experts = 5, sizes.experts_per_token = 2, sizes.expert_intermediate = 16;
  const ModelSpec spec = make_spec(sizes, {});
  LossSettings settings;
  settings.modes.policy = AggMode::kTokenMean;
  const ActorLoss actor_loss({.built_in = settings});
  const Transformer model = Transformer::init(spec, 1, test::fake_device(), at::kBFloat16);
  const auto [counts, metrics] =
      train(test::fake_device(), model.parameters(),
            {.masks = {"final_response_mask", "response_mask"}, .weights = actor_weight_rules(settings)},
            [&](const Experience& e, const MiniBatchCounts& of_masks) {
              PackedTokens tokens = e.tokens;
              tokens.token_weight = 0.1;
              if (has_costs) tokens = with_routers(tokens, spec, {0.1, 0.1});
              const at::Tensor wanted = e.host_mask("response_mask");
              TokenLogProbs found = token_log_probs(model, tokens, 1.0, true, {}, wanted);
              if (has_costs) CHECK_FALSE(found.routers->sums().front().is_cpu());
              return actor_loss(e, found, of_masks);
            });
  for (const auto& [name, times] : counts.waits) UNSCOPED_INFO(name << " waits " << times << " times");
  CHECK(test::DeviceCounts::sum(counts.waits) == 2);
  for (const auto& [name, times] : counts.copies_in) UNSCOPED_INFO(name << " sends " << times << " times");
  CHECK(test::DeviceCounts::sum(counts.copies_in) == (has_costs ? 8 : 4));  // routers are told of each micro-batch
}

TEST_CASE("pairs that share a prompt are sent at once, with what their loss asks of sequences", "[train]") {
  const auto on = [&](at::Device device) {
    const Transformer model = Transformer::init(tiny_spec(), 1, device);
    return train(device, model.parameters(), {.masks = {"response_mask"}, .has_reference = true},
                 [&](const Experience& e, const MiniBatchCounts& counts) {
                   ROLL_CHECK(!e.tokens.tree.empty(), "a pair has one prompt");
                   const auto log_probs =
                       token_log_probs(model, e.tokens, 1.0, false, {}, e.host_mask("response_mask")).log_probs;
                   return dpo_loss({e.axis(), log_probs, e.ref_log_probs, e.response_mask()}, counts, {});
                 });
  };
  const auto [counts, metrics] = on(test::fake_device());
  for (const auto& [name, times] : counts.copies_in) UNSCOPED_INFO(name << " sends " << times << " times");
  CHECK(test::DeviceCounts::sum(counts.copies_in) == 4);
  CHECK(test::DeviceCounts::sum(counts.waits) == 2);
  check_alike(metrics, on(at::kCPU).metrics, "dpo/");
}

TEST_CASE("a rank of several that share a model gets each micro-batch in one copy", "[train]") {
  const auto [cp, tp] = GENERATE(table<int, int>({{1, 2}, {2, 1}, {2, 2}}));
  CAPTURE(cp, tp);
  const test::TemporaryFolder folder;
  Transformer::init(tiny_spec(), 1).save(folder / "m");
  const ActorLoss actor_loss(RoleLossSettings{});
  test::MirrorRanks world(cp * tp);
  Mesh mesh(world, {.cp = cp, .tp = tp});
  const Transformer model = Transformer::load(folder / "m", test::fake_device(), at::kFloat, model_parallel(mesh));
  train_on(mesh, {mesh, model.parts()}, test::fake_device(), model.parameters(),
           {{"final_response_mask", "response_mask"}, actor_weight_rules({})},
           [&](const Experience& e, const MiniBatchCounts& counts) {
             const at::Tensor wanted = e.host_mask("response_mask");
             return actor_loss(e, token_log_probs(model, e.tokens, 1.0, true, {}, wanted), counts);
           });
  const test::DeviceCounts counts = test::take_device_counts();
  for (const auto& [name, times] : counts.copies_in) UNSCOPED_INFO(name << " sends " << times << " times");
  CHECK(test::DeviceCounts::sum(counts.copies_in) == 4);
}

TEST_CASE("what comes to a device is laid out as the ranks that compute it lay it out themselves", "[train]") {
  const auto [cp, tp, shares] =
      GENERATE(table<int, int, bool>({{1, 1, false}, {1, 2, false}, {2, 2, false}, {1, 1, true}, {2, 1, true}}));
  const bool has_contexts = GENERATE(false, true);
  CAPTURE(cp, tp, shares, has_contexts);
  test::MirrorRanks world(cp * tp);
  Mesh mesh(world, {.cp = cp, .tp = tp});
  const ModelParallel parallel = model_parallel(mesh);
  Experience e = eight_sequences();
  if (has_contexts)
    for (int64_t b = 0; b <= e.num_sequences(); ++b) {
      e.tokens.cu_contexts.push_back(e.tokens.cu_seqlens[b]);
      if (b < e.num_sequences()) e.tokens.cu_contexts.push_back(e.tokens.cu_seqlens[b] + 2);
    }
  if (shares) e.tokens.tree = prefix_tree(e.tokens, sequence_alignment(cp, tp));
  const TokenLayout expected = lay_out(e.tokens, parallel);
  const LabelledSlots labelled = labelled_slots(expected, e.tokens, e.mask("response_mask"), parallel);
  const Experience there = to_device(e, test::fake_device(), parallel);
  const TokenLayout found = lay_out(there.tokens, parallel);
  const auto same = [](const at::Tensor& on_device, const at::Tensor& here) {
    CHECK(on_device.defined() == here.defined());
    if (here.defined()) CHECK((!on_device.is_cpu() && at::equal(on_device.cpu(), here)));
  };
  same(found.ids, expected.ids), same(found.positions, expected.positions), same(found.keys, expected.keys);
  same(found.tokens, expected.tokens), same(found.result_rows, expected.result_rows);
  CHECK(std::ssize(expected.cu_queries) > (has_contexts ? 2 : 1) * 8);
  same(found.query_bounds, sequence_bounds(expected.cu_queries)),
      same(found.key_bounds, sequence_bounds(expected.cu_keys));
  REQUIRE(there.tokens.labelled.size() == 1);
  same(there.tokens.labelled[0].slots, labelled.slots), same(there.tokens.labelled[0].unwanted, labelled.unwanted);
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
