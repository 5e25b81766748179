#include "settings/memory_estimate.h"
#include "settings/placement.h"

#include <ATen/ATen.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "dist/local_ranks.h"
#include "model/activation_memory.h"
#include "model/transformer.h"
#include "model/value_model.h"
#include "model/weights.h"
#include "optim/allocated.h"
#include "optim/learner.h"
#include "pipeline/stage.h"
#include "settings/choose_recomputation.h"
#include "settings/small_config.h"
#include "settings/step_cost.h"

namespace roll {

using test::config_of;
using test::small_spec;

namespace {

double model_bytes(const MemoryEstimate& memory) {
  return memory.weights + memory.gradients + memory.optimizer;
}

/// Buckets begin at vectors of 16 bytes.
Approx with_padding(double bytes) {
  return Approx(bytes).epsilon(5e-4);
}

/// Of a model and its learner, beside what the model keeps for its positions.
double allocated_bytes(const test::Allocated& allocated, const ModelSpec& spec) {
  return static_cast<double>(allocated.live() - 4 * spec.head_dim / 2);
}

struct Case {
  bool is_fp32, shares, tied_head;
  int num_ranks;
  std::vector<std::string> frozen = {};
  bool uses_muon = false;
};

}  // namespace

TEST_CASE("weights, gradients and optimizer are estimated to the byte", "[train]") {
  const Case c = GENERATE(Case{true, true, true, 1}, Case{false, true, true, 1}, Case{true, false, false, 2},
                          Case{true, true, false, 2}, Case{false, false, true, 3}, Case{false, true, false, 3},
                          Case{false, true, false, 2, {"model.embed_tokens", "model.layers.1."}},
                          Case{true, true, true, 2, {}, true}, Case{false, false, false, 2, {"model.layers.1."}, true});
  const ModelSpec spec = small_spec(c.tied_head);
  Config config = config_of(c.is_fp32, c.shares, c.frozen);
  if (c.uses_muon) config.actor_train.training_args.optimizer = OptimizerKind::kMuon;
  place_roles(config, c.num_ranks);
  REQUIRE_FALSE(config.uses_reference());
  const double expected = model_bytes(estimate_memory(config, {{"actor_train", spec}}, true, 0));
  const auto bytes = test::run_local_ranks(c.num_ranks, [&](Communicator& ranks) {
    const test::Allocated allocated;
    const Transformer model = Transformer::init(spec, 1, at::kCPU, c.is_fp32 ? at::kFloat : at::kBFloat16);
    Mesh mesh(ranks, {});
    const Learner learner("actor", model.parameters(),
                          {.muon = c.uses_muon ? std::optional(MuonConfig()) : std::nullopt,
                           .frozen_prefixes = c.frozen,
                           .shares_optimizer = c.shares},
                          {mesh, model.parts()});
    return fmt::format("{}", allocated_bytes(allocated, spec));
  });
  for (const std::string& found : bytes) CHECK(found == fmt::format("{}", expected));
}

TEST_CASE("of layers that are gathered an update has slices, two layers, and the gradients of one", "[train]") {
  const ModelSpec spec = small_spec(true);
  Config config = config_of(false, true);
  config.actor_train.strategy_args.strategy_name = Strategy::kFsdp2Train;
  place_roles(config, 6);
  const RoleShapes models = {{"actor_train", spec}};
  const MemoryEstimate gathered = estimate_memory(config, models, true, 0);
  config.actor_train.strategy_args.strategy_config.reshard_after_forward = false;
  const MemoryEstimate whole = estimate_memory(config, models, true, 0);
  const double layer = 36 * (6 * 6 + 2 * 2 * 6 + 6 * 6 + 3 * 77);  // q, k and v, o, gate, up and down
  CHECK(whole.gathered == 0);
  CHECK(gathered.gathered == Approx(2 * (3 * layer * 5 / 6 - 2 * layer)));
  CHECK(whole.gradients - gathered.gradients == Approx(4 * (3 * layer * 5 / 6 - layer)));
  CHECK(gathered.weights == whole.weights);  // between updates
  CHECK(gathered.training() == Approx(whole.training() - gathered.gathered - (whole.gradients - gathered.gradients)));
  config.actor_train.strategy_args.strategy_config.reshard_after_forward.reset();
  config.actor_train.model_args.disable_gradient_checkpointing = true;  // each waits for its backward
  CHECK(estimate_memory(config, models, true, 0).gathered == 0);
}

TEST_CASE("what is not gathered is whole: copies of tensor ranks, what is frozen, two layers of two", "[train]") {
  const ModelSpec spec = small_spec(true);
  const auto gathered_of = [](const ModelSpec& spec, int64_t tp, const std::vector<std::string>& frozen) {
    Config config = config_of(false, true, frozen);
    for (WorkerConfig* worker : {&config.actor_train, &config.actor_infer})
      worker->strategy_args.strategy_config.tensor_model_parallel_size = tp;
    config.actor_train.strategy_args.strategy_config.recompute_granularity = Recompute::kFull;
    config.actor_train.strategy_args.strategy_config.reshard_after_forward = true;
    place_roles(config, 6 * tp);
    const RoleShapes models = {{"actor_train", spec}};
    const MemoryEstimate gathers = estimate_memory(config, models, true, 0);
    config.actor_train.strategy_args.strategy_config.reshard_after_forward = false;
    return std::pair(gathers.gathered, estimate_memory(config, models, true, 0).gradients - gathers.gradients);
  };
  ModelSpec copied = spec;
  copied.num_heads = 8;
  copied.head_dim = 6;
  copied.intermediate_size = 80;
  copied.vocab_size = 304;
  const double cut = 36 * (12 + 12 + 3 * 20);  // q and o, gate, up and down, of a rank of four; k and v are copies
  CHECK(gathered_of(copied, 4, {}).first == Approx(2 * (3 * cut * 5 / 6 - 2 * cut)));
  const double half = 36 * 3 * 77;
  CHECK(gathered_of(spec, 1, {"model.layers.0.self_attn", "model.layers.1.self_attn", "model.layers.2.self_attn"})
            .first == Approx(2 * (3 * half * 5 / 6 - 2 * half)));
  ModelSpec shallow = spec;
  shallow.num_layers = 1;
  CHECK(gathered_of(shallow, 1, {}) == std::pair(0.0, 0.0));
}

TEST_CASE("the parts of tensor ranks are estimated to the byte, copies of key/value heads too", "[train]") {
  const bool is_fp32 = GENERATE(true, false);
  ModelSpec spec = small_spec(false);
  spec.num_heads = 8;
  spec.vocab_size = 302;
  spec.intermediate_size = 80;
  Config config = config_of(is_fp32, true);
  for (WorkerConfig* worker : {&config.actor_train, &config.actor_infer})
    worker->strategy_args.strategy_config.tensor_model_parallel_size = 4;
  place_roles(config, 4);
  const double expected = model_bytes(estimate_memory(config, {{"actor_train", spec}}, true, 0));
  std::vector<ParameterShape> shapes = backbone_parameters(spec);
  shapes.push_back(lm_head_parameter(spec));
  const auto bytes = test::run_local_ranks(4, [&](Communicator& ranks) {
    Mesh mesh(ranks, {.tp = 4});
    const test::Allocated allocated;
    const ParameterShards parts(spec, shapes, &mesh.tp());
    NamedTensors local;
    for (const ParameterShape& parameter : shapes)
      local.emplace_back(
          parameter.name,
          parts.cut(parameter.name, at::zeros(parameter.shape, is_fp32 ? at::kFloat : at::kBFloat16)).clone());
    const Learner learner("actor", local, {}, {mesh, parts});
    return fmt::format("{}", static_cast<double>(allocated.live()));
  });
  CHECK(bytes[0] == fmt::format("{}", expected));
}

TEST_CASE("the parts of stages are estimated to the byte", "[train]") {
  const bool tied = GENERATE(true, false);
  const ModelSpec spec = small_spec(tied);
  Config config = config_of(false, true);
  StrategyConfig& strategy = config.actor_train.strategy_args.strategy_config;
  strategy.pipeline_model_parallel_size = 2;
  const bool is_interleaved = GENERATE(false, true);
  if (is_interleaved)
    strategy.pipeline_model_parallel_layout = "Et|t|t|L";
  else
    strategy.num_layers_in_first_pipeline_stage = 1;
  strategy.tensor_model_parallel_size = config.actor_infer.strategy_args.strategy_config.tensor_parallel_size = 2;
  place_roles(config, 8);
  const std::vector<ParameterShape> shapes = policy_parameters(spec);
  double sampler = 0;  // holds all layers
  for (const ParameterShape& shape : shapes) sampler += 2.0 * static_cast<double>(flat_shard(shape, 0, 2).numel);
  const auto bytes = test::run_local_ranks(8, [&](Communicator& ranks) {
    Mesh mesh(ranks, {.tp = 2, .pp = 2, .ring = is_interleaved});
    const StageSplit split = is_interleaved ? StageSplit({1, 1, 1, 0}, 2) : StageSplit({1, 2});
    const auto stage = std::make_shared<PipelineStage>(split, mesh);
    const test::Allocated allocated;
    const ParameterShards parts(spec, shapes, &mesh.tp(), nullptr, stage);
    NamedTensors local;
    for (const ParameterShape& shape : held_by(shapes, {.tp = &mesh.tp(), .stage = stage}))
      local.emplace_back(shape.name, parts.cut(shape.name, at::zeros(shape.shape, at::kBFloat16)).clone());
    const Learner learner("actor", local, {}, {mesh, parts});
    return fmt::format("{}", static_cast<double>(allocated.live()));
  });
  for (const int rank : {0, 2, 4, 6}) {  // first tensor ranks, of which none holds less
    MemoryEstimate memory = estimate_memory(config, {{"actor_train", spec}}, true, rank);
    memory.weights -= sampler;
    INFO("rank " << rank << ", tied " << tied << ", interleaved " << is_interleaved);
    CHECK(bytes[rank] == fmt::format("{}", model_bytes(memory)));
  }
}

TEST_CASE("the parts of ranks that share experts are estimated to the byte", "[train]") {
  const int64_t tp = GENERATE(1, 2);
  const bool shares = GENERATE(true, false);
  ModelSpec spec = small_spec(false);
  spec.architecture = &find_architecture("qwen3_moe", "test");
  spec.mixture = MixtureSpec{.routing = {.count = 6, .chosen = 2}, .inner = 20};
  Config config = config_of(false, shares);
  StrategyConfig& strategy = config.actor_train.strategy_args.strategy_config;
  strategy.tensor_model_parallel_size = config.actor_infer.strategy_args.strategy_config.tensor_parallel_size = tp;
  strategy.expert_model_parallel_size = 2;
  place_roles(config, 4);
  MemoryEstimate memory = estimate_memory(config, {{"actor_train", spec}}, true, 0);
  double sampler = 0;  // holds all experts
  for (const ParameterShape& shape : policy_parameters(spec))
    sampler += 2.0 * static_cast<double>(flat_shard(shape, 0, tp).numel);
  memory.weights -= sampler;
  const std::vector<ParameterShape> shapes = policy_parameters(spec);
  const auto bytes = test::run_local_ranks(4, [&](Communicator& ranks) {
    Mesh mesh(ranks, {.tp = tp, .ep = 2});
    const test::Allocated allocated;
    const ParameterShards parts(spec, shapes, &mesh.tp(), mesh.experts());
    NamedTensors local;
    for (const ParameterShape& shape : held_by(shapes, mesh.experts()->rank(), 2))
      local.emplace_back(shape.name, parts.cut(shape.name, at::zeros(shape.shape, at::kBFloat16)).clone());
    const Learner learner("actor", local, {.shares_optimizer = shares}, {mesh, parts});
    return fmt::format("{}", static_cast<double>(allocated.live()));
  });
  CHECK(bytes[0] == fmt::format("{}", model_bytes(memory)));
}

TEST_CASE("a critic has a number for a head; reference and a sampler of other parts are weights alone", "[train]") {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("roll_test_memory_test_{}", ::getpid());
  const ModelSpec spec = small_spec(false), tied = small_spec(true);
  Transformer::init(spec, 1).save(folder);
  int64_t critic_numel = 0;
  const ValueModel critic = ValueModel::load(folder);
  for (const auto& [name, tensor] : critic.parameters()) critic_numel += tensor.numel();
  std::filesystem::remove_all(folder);

  Config config = config_of(false, true);
  const auto estimate = [&](const RoleShapes& models, int64_t num_ranks) {
    place_roles(config, num_ranks);
    return estimate_memory(config, models, true, 0);
  };
  const MemoryEstimate alone = estimate({{"actor_train", spec}}, 1);
  const MemoryEstimate both = estimate({{"actor_train", spec}, {"critic", spec}}, 1);
  CHECK(both.weights - alone.weights == with_padding(2.0 * critic_numel));
  CHECK(both.gradients - alone.gradients == with_padding(4.0 * critic_numel));
  CHECK(both.optimizer - alone.optimizer == with_padding(10.0 * critic_numel));
  CHECK(both.checkpoint - alone.checkpoint == with_padding((2.0 + 10.0) * critic_numel));

  config.enable_reference = true;
  CHECK(estimate({{"actor_train", spec}}, 1).weights - alone.weights == 2.0 * spec.num_parameters());
  CHECK(estimate({{"actor_train", spec}, {"reference", tied}}, 1).weights - alone.weights ==
        2.0 * tied.num_parameters());
  config.enable_reference = false;
  const double two_ranks = estimate({{"actor_train", spec}}, 2).weights;
  config.actor_infer.strategy_args.strategy_config.tensor_parallel_size = 2;
  CHECK(estimate({{"actor_train", spec}}, 2).weights - two_ranks == Approx(spec.num_parameters()).epsilon(0.02));
}

TEST_CASE("a rank that samples with the trainer's tensors has weights once, beside others with a copy", "[train]") {
  Config config = config_of(true, true);
  config.experience.adv_estimator = "grpo";
  config.actor_train.device_mapping = DeviceMapping{{0, 1}};
  config.actor_infer.device_mapping = DeviceMapping{{1, 2}};
  place_roles(config, 3);
  const ModelSpec spec = small_spec(false);
  for (int rank = 0; rank < 3; ++rank)
    CHECK(estimate_memory(config, {{"actor_train", spec}}, true, rank).weights ==
          with_padding(4.0 * spec.num_parameters()));
}

TEST_CASE("offload leaves the policy's weights and the cache to the sampler, on a GPU", "[train]") {
  Config config = config_of(false, true);
  config.enable_reference = true;
  config.sequence_length = 100;
  place_roles(config, 1);
  const ModelSpec spec = small_spec(false);
  const auto estimate = [&](bool on_gpu) {
    return estimate_memory(config, {{"actor_train", spec}, {"critic", spec}}, on_gpu, 0);
  };
  const MemoryEstimate plain = estimate(true);
  CHECK(plain.sampling() == plain.weights + plain.gradients + plain.optimizer + plain.kv_cache);
  CHECK(plain.training() == plain.weights + plain.gradients + plain.optimizer + plain.activations);
  CHECK(plain.total() == std::max(plain.training(), plain.sampling()));
  config.offload = true;
  CHECK(estimate(true).sampling() == with_padding(2.0 * spec.num_parameters() + plain.kv_cache));
  const double reference = estimate(true).loaded_reference;
  CHECK(reference > 2.0 * spec.num_parameters());  // weights and what the forward takes
  CHECK(estimate(true).training() ==
        plain.training() - plain.activations - 2.0 * spec.num_parameters() + std::max(plain.activations, reference));
  CHECK(estimate(false).offloaded == 0);
}

TEST_CASE("a sampler's own weights of 8 bits are a byte each, of 4 bits little more than half, on the CPU", "[train]") {
  Config config = config_of(false, true);
  config.sequence_length = 100;
  place_roles(config, 1);
  const ModelSpec spec = small_spec(false);
  const auto estimate = [&](bool on_gpu) { return estimate_memory(config, {{"actor_train", spec}}, on_gpu, 0); };
  const MemoryEstimate wide = estimate(false), on_gpu = estimate(true);
  config.actor_infer.model_args.dtype = Dtype::kInt8;
  CHECK(wide.weights - estimate(false).weights == spec.num_parameters());
  CHECK(wide.kv_cache == estimate(false).kv_cache);
  CHECK(on_gpu.weights == estimate(true).weights);
  config.actor_infer.model_args.dtype = Dtype::kInt4;
  CHECK(wide.weights - estimate(false).weights == 1.4375 * static_cast<double>(spec.num_parameters()));
}

TEST_CASE("activations are those of the largest micro-batch of any pass of any role", "[train]") {
  Config config = config_of(false, true);
  config.sequence_length = 100;
  const ModelSpec spec = small_spec(false);
  PackingArgs& packing = config.actor_train.packing;
  packing.use_sequence_packing = true;
  packing.sequence_packing_args.max_packed_sequence_length_train = 400;
  packing.sequence_packing_args.max_packed_sequence_length_forward = 100;
  place_roles(config, 1);
  const auto activations = [&] {
    return estimate_memory(config, {{"actor_train", spec}, {"critic", spec}}, true, 0).activations;
  };
  ActivationRule rule{.tokens = 400, .longest = 100, .recomputation = kEveryLayer};
  config.experience.adv_estimator = "grpo";
  auto& recomputes = config.actor_train.strategy_args.strategy_config.recompute_granularity;
  recomputes = Recompute::kFull;
  CHECK(activations() == training_activation_bytes(spec, rule));
  recomputes.reset();
  config.actor_train.strategy_args.strategy_config.moe_layer_recompute = true;
  CHECK(activations() == training_activation_bytes(spec, rule));
  config.actor_train.strategy_args.strategy_config.moe_layer_recompute = false;
  rule.recomputation = {};
  CHECK(activations() == training_activation_bytes(spec, rule));
  config.enable_old_logprobs_recompute = true;
  packing.sequence_packing_args.max_packed_sequence_length_forward = 100'000;
  rule.tokens = 100'000;
  CHECK(activations() == forward_activation_bytes(spec, rule));
}

TEST_CASE(
    "activations are fewer by the prompts that full micro-batches compute once, where all ranks have whole groups",
    "[train]") {
  Config config = config_of(false, true);
  config.sequence_length = 100;
  config.prompt_length = 61;
  config.num_return_sequences_in_group = 4;
  config.rollout_batch_size = 2;
  config.experience.adv_estimator = "grpo";
  TrainingArgs& batch = config.actor_train.training_args;
  batch.per_device_train_batch_size = 4;
  batch.gradient_accumulation_steps = 2;
  place_roles(config, 1);
  const ModelSpec spec = small_spec(false);
  const auto activations = [&] { return estimate_memory(config, {{"actor_train", spec}}, true, 0).activations; };
  const auto expected = [&](int64_t tokens, int64_t whole, int64_t longest = 100) {
    return training_activation_bytes(spec, {.tokens = tokens, .whole = whole, .longest = longest});
  };
  CHECK(activations() == expected(400 - 3 * 60, 400));  // a group
  batch.per_device_train_batch_size = 2;
  batch.gradient_accumulation_steps = 4;
  CHECK(activations() == expected(200 - 60, 200));  // half of one
  batch.per_device_train_batch_size = 8;
  batch.gradient_accumulation_steps = 1;
  CHECK(activations() == expected(800 - 6 * 60, 800));  // two groups
  config.actor_train.packing.share_prompts = SharePrompts::kFalse;
  CHECK(activations() == expected(800, 800));
  config.actor_train.packing.share_prompts = SharePrompts::kAuto;
  config.prompt_length = 5;  // not worthwhile
  CHECK(activations() == expected(800, 800));
  config.prompt_length = 61;
  config.ppo_epochs = 1;
  batch.train_batch_size = 4;  // responses are spread over two mini-batches
  batch.per_device_train_batch_size = 4;
  CHECK(activations() == expected(400, 400));
  batch.train_batch_size.reset();
  PackingArgs& packing = config.actor_train.packing;
  packing.use_sequence_packing = true;
  packing.sequence_packing_args.max_packed_sequence_length_train = 180;  // a prompt and three responses
  batch.per_device_train_batch_size = 8;
  CHECK(activations() == expected(180, 180 + 2 * 60));
  // A choice of layers must hold where auto shares none.
  config.actor_train.strategy_args.strategy_config.recompute_granularity = Recompute::kFull;
  config.actor_train.strategy_args.strategy_config.recompute_method = RecomputeMethod::kAuto;
  packing.use_sequence_packing = false;
  const auto layers = [&](SharePrompts share) {
    Config tried = config;
    tried.actor_train.packing.share_prompts = share;
    choose_recomputation(tried, {{"actor_train", spec}}, true, 1e9 + 4e6);
    return tried.actor_train.recomputation().layers;
  };
  CHECK(layers(SharePrompts::kAuto) == layers(SharePrompts::kFalse));
  CHECK(layers(SharePrompts::kTrue) < layers(SharePrompts::kFalse));
}

TEST_CASE("the cache holds greedy responses too", "[train]") {
  Config config = config_of(true, true);
  config.sequence_length = 100;
  config.rollout_batch_size = 4;
  config.num_return_sequences_in_group = 2;
  config.experience.adv_estimator = "reinforce";
  const ModelSpec spec = small_spec(true);
  const double without = estimate_memory(config, {{"actor_train", spec}}, false, 0).kv_cache;
  config.experience.adv_estimator = "remax";
  CHECK(estimate_memory(config, {{"actor_train", spec}}, false, 0).kv_cache == without * 12 / 8);
}

}  // namespace roll
