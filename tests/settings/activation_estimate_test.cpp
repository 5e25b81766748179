// What training and its forwards allocate beside weights, gradients and optimizer: estimated, and counted where they
// run, on the CPU and, as a GPU would, on the fake device.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <catch2/catch.hpp>

#include "checkpoint/temporary_folder.h"
#include "dist/mirror_ranks.h"
#include "experience/sample.h"
#include "job/join.h"
#include "loss/losses.h"
#include "model/activation_memory.h"
#include "model/init_spec.h"
#include "model/log_probs.h"
#include "model/value_model.h"
#include "ops/fake_device.h"
#include "ops/multiplying.h"
#include "ops/simulated_layer_launcher.h"
#include "optim/allocated.h"
#include "step/forward.h"
#include "step/role_losses.h"
#include "step/roles.h"
#include "step/trained_experience.h"
#include "step/updates.h"

namespace roll {

namespace {

constexpr int64_t kLength = 24, kSequences = 4;        // of a micro-batch
constexpr int64_t kLongPrompt = 32, kLongLength = 48;  // where prompts are shared

/// Qwen2's layers with a tied head, Qwen3's, and Llama's with a large one.
std::vector<ModelSpec> small_architectures() {
  const ModelSpec base{.vocab_size = 256,
                       .hidden_size = 64,
                       .intermediate_size = 192,
                       .num_layers = 2,
                       .num_heads = 4,
                       .num_kv_heads = 2,
                       .head_dim = 16};
  std::vector<ModelSpec> specs(3, base);
  specs[0].qkv_bias = specs[0].tied_head = true;
  specs[1].qk_norm = true;
  specs[1].head_dim = 32;
  specs[2].num_kv_heads = 4;
  specs[2].vocab_size = 1024;
  return specs;
}

Experience sequences_of(int64_t count, int64_t prompt = 2, int64_t length = kLength, int64_t group_size = 2) {
  std::vector<Sample> samples;
  for (int64_t i = 0; i < count; ++i)
    samples.push_back({.prompt_ids = std::vector<int64_t>(prompt, 1 + i / group_size),
                       .response_ids = std::vector<int64_t>(length - prompt, 100 + i),
                       .sequence_index = i,
                       .group_index = i / group_size,
                       .score = static_cast<double>(i % 2)});
  return test::trained_experience(samples);
}

/// Bytes of the fake device or of the CPU.
struct Meter {
  at::Device device;
  test::Allocated on_cpu{};
  int64_t live() const { return device.is_cpu() ? on_cpu.live() : test::live_device_bytes(); }
  int64_t take_peak() { return device.is_cpu() ? on_cpu.take_peak() : test::take_peak_device_bytes(); }
};

/// The most that lives beside what lived before `work`.
double most_of(Meter& meter, const std::function<void()>& work) {
  const auto live = static_cast<double>(meter.live());
  meter.take_peak();
  work();
  return static_cast<double>(meter.take_peak()) - live;
}

/// An update of two micro-batches.
double counted_training(Meter& meter, Mesh& mesh, const NamedTensors& parameters, const ParameterShards& parts,
                        const Experience& step, const MicroBatchLoss& loss, SharePrompts share = SharePrompts::kFalse) {
  Learner learner("test", parameters, {.schedule = {.type = LrScheduleType::kConstant, .peak_lr = 1e-3}},
                  {mesh, parts});
  const std::vector<std::string> masks = {"response_mask", "final_response_mask"};
  const UpdatePlan plan{
      .settings = {.prefix = "test", .loss_mask = masks[0], .counted_masks = masks},
      .rule = {.packing = {.share_prompts = share}, .num_sequences = kSequences},
      .mini_batches = {{0, 1, 2, 3, 4, 5, 6, 7}},
      .sizes = {batch_lengths(step), step.group_index, std::vector<int64_t>(2 * kSequences, kLongPrompt)},
      .num_groups = kSequences,
      .device = meter.device};
  return most_of(meter, [&] { run_updates(step, plan, learner, mesh, loss); });
}

/// A pass without backward over two micro-batches.
double counted_forward(Meter& meter, Mesh& mesh, const Experience& step, const ForwardPass& forward,
                       SharePrompts share = SharePrompts::kFalse) {
  const Partition micro_batches = {{0, 1, 2, 3}, {4, 5, 6, 7}};
  const int64_t sharing = share == SharePrompts::kTrue ? 1 : 0;
  return most_of(meter,
                 [&] { forward_share(step, micro_batches, meter.device, model_parallel(mesh), forward, {}, sharing); });
}

void check_near(const char* what, double estimated, double counted, double margin = 0.1) {
  INFO(what << ": " << counted << " bytes, estimated " << estimated / counted << " of them");
  CHECK(estimated / counted == Approx(1).margin(margin));
}

ActivationRule rule_for(const Meter& meter, at::ScalarType dtype, const Recomputation& recomputation = {}) {
  return {.tokens = kLength * kSequences,
          .longest = kLength,
          .dtype = dtype,
          .on_gpu = !meter.device.is_cpu(),
          .recomputation = recomputation};
}

double counted_policy(Meter& meter, Mesh& mesh, const Transformer& model, const Experience& step,
                      const Recomputation& recomputation, SharePrompts share = SharePrompts::kFalse) {
  const ActorLoss actor_loss(RoleLossSettings{});
  const auto loss = [&](const Experience& e, const MiniBatchCounts& counts) {
    const at::Tensor wanted = e.host_mask("response_mask");
    return actor_loss(e, token_log_probs(model, e.tokens, 1.0, true, recomputation, wanted), counts);
  };
  return counted_training(meter, mesh, model.parameters(), model.parts(), step, loss, share);
}

double counted_log_probs(Meter& meter, Mesh& mesh, const Transformer& model, const Experience& step,
                         SharePrompts share = SharePrompts::kFalse) {
  const ForwardPass log_probs = {[&](const Batch& b) {
    return token_log_probs(model, b.tokens, 1.0, false, {}, b.host_mask("response_mask")).log_probs;
  }};
  return counted_forward(meter, mesh, step, log_probs, share);
}

/// This process alone.
struct Alone {
  std::unique_ptr<Communicator> ranks = make_communicator({.kind = Transport::kSingle});
  Mesh mesh{*ranks, {}};
};

/// Of the policy on the CPU, in either dtype, with layers recomputed and not. Gives the rule that was estimated by.
ActivationRule check_within_quarter(const ModelSpec& spec) {
  Meter meter{at::kCPU};
  const auto dtype = GENERATE(at::kBFloat16, at::kFloat);
  const Recomputation recomputation = GENERATE(true, false) ? kEveryLayer : Recomputation{};
  const test::Multiplying multiplying(false);
  CAPTURE(dtype, recomputation.layers);
  const Transformer model = Transformer::init(spec, 1, meter.device, dtype);
  const Experience step = sequences_of(2 * kSequences);
  Alone alone;
  const ActivationRule rule = rule_for(meter, dtype, recomputation);
  const double training = counted_policy(meter, alone.mesh, model, step, recomputation);
  const double forward = counted_log_probs(meter, alone.mesh, model, step);
  check_near("training", training_activation_bytes(spec, rule), training, 0.25);
  check_near("log-probs", forward_activation_bytes(spec, rule), forward, 0.25);
  return rule;
}

/// Its layers are kernels on the fake device.
template <class Model>
Model by_kernels(Model model) {
  if (!model.device().is_cpu()) model.backbone().launch_by(std::make_shared<test::SimulatedLayerLauncher>());
  return model;
}

}  // namespace

TEST_CASE("what micro-batches take beside weights, gradients and optimizer is estimated within a tenth", "[train]") {
  at::manual_seed(1);
  const ModelSpec spec = GENERATE(from_range(small_architectures()));
  Meter meter{GENERATE(true, false) ? test::fake_device() : at::Device(at::kCPU)};
  const auto dtype = GENERATE(at::kBFloat16, at::kFloat);
  const bool recomputes = GENERATE(true, false);
  const bool is_native = meter.device.is_cpu() && dtype == at::kBFloat16 && GENERATE(true, false);
  const test::Multiplying multiplying(is_native);
  const double margin = is_native ? 0.25 : 0.1;  // oneDNN takes memory of its own
  CAPTURE(is_native, spec.qkv_bias, spec.qk_norm, meter.device, dtype, recomputes);
  const Transformer model = by_kernels(Transformer::init(spec, 1, meter.device, dtype));
  const Experience step = sequences_of(2 * kSequences);
  const Recomputation recomputation = recomputes ? kEveryLayer : Recomputation{};
  Alone alone;
  const ActivationRule rule = rule_for(meter, dtype, recomputation);
  const double training = counted_policy(meter, alone.mesh, model, step, recomputation);
  const double forward = counted_log_probs(meter, alone.mesh, model, step);
  check_near("training", training_activation_bytes(spec, rule), training, margin);
  check_near("log-probs", forward_activation_bytes(spec, rule), forward, margin);
}

TEST_CASE("what micro-batches take that compute a prompt once is estimated within a fifth", "[train]") {
  ModelSpec spec = GENERATE(from_range(small_architectures()));
  spec.vocab_size = 256;  // with fewer labels than tokens the head takes less than is said
  Meter meter{GENERATE(true, false) ? test::fake_device() : at::Device(at::kCPU)};
  const auto dtype = GENERATE(at::kBFloat16, at::kFloat);
  const Recomputation recomputation = GENERATE(Recomputation{}, kEveryLayer);
  const test::Multiplying multiplying(false);
  CAPTURE(spec.qkv_bias, spec.qk_norm, meter.device, dtype, recomputation.layers);
  const Transformer model = by_kernels(Transformer::init(spec, 1, meter.device, dtype));
  const Experience step = sequences_of(2 * kSequences, kLongPrompt, kLongLength, kSequences);
  Alone alone;
  ActivationRule rule = rule_for(meter, dtype, recomputation);
  rule.longest = kLongLength;
  rule.tokens = rule.whole = kSequences * kLongLength;
  const double whole = training_activation_bytes(spec, rule);
  rule.tokens -= (kSequences - 1) * (kLongPrompt - 1);
  const double training = counted_policy(meter, alone.mesh, model, step, recomputation, SharePrompts::kTrue);
  const double forward = counted_log_probs(meter, alone.mesh, model, step, SharePrompts::kTrue);
  check_near("training", training_activation_bytes(spec, rule), training, 0.2);
  check_near("log-probs", forward_activation_bytes(spec, rule), forward, 0.2);
  CHECK(training < 0.9 * whole);
}

TEST_CASE("what gated delta nets take is estimated within a quarter", "[train]") {
  at::manual_seed(1);
  InitSizes sizes;
  sizes.arch = "qwen3_5_text";
  sizes.vocab = 256;
  sizes.hidden = 64;
  sizes.kv_heads = 2;
  const ModelSpec spec = make_spec(sizes, {});
  check_within_quarter(spec);
}

TEST_CASE("what layers take that share keys and have inputs of their own is estimated within a quarter", "[train]") {
  InitSizes sizes;
  sizes.arch = "gemma4_text", sizes.vocab = 256, sizes.hidden = 64, sizes.layers = 6, sizes.kv_heads = 2;
  sizes.head_dim = 16, sizes.intermediate = 128, sizes.layer_input = 32, sizes.keyless_layers = 3;
  const ModelSpec spec = make_spec(sizes, {});
  const ActivationRule rule = check_within_quarter(spec);
  // A later stage keeps what it is given, for its layers and those behind.
  ActivationRule later = rule, behind = rule;
  later.layers = {3};
  behind.layers = {5};
  const double given = training_activation_bytes(spec, later) - training_activation_bytes(spec, behind);
  CHECK(given > 2.0 * kLength * kSequences * 32 * 2);  // inputs of two layers and their gradients, at least
}

TEST_CASE("what is kept where some layers are recomputed, or several together, is estimated within a tenth",
          "[train]") {
  ModelSpec spec = small_architectures()[0];
  spec.num_layers = 5;
  Meter meter{GENERATE(true, false) ? test::fake_device() : at::Device(at::kCPU)};
  const auto dtype = GENERATE(at::kBFloat16, at::kFloat);
  const test::Multiplying multiplying(false);
  const Transformer model = by_kernels(Transformer::init(spec, 1, meter.device, dtype));
  const Experience step = sequences_of(2 * kSequences);
  Alone alone;
  double before = 0;
  for (const Recomputation& some :
       {Recomputation{.layers = 4}, Recomputation{.layers = 2}, Recomputation{.layers = 1},
        Recomputation{.layers = 5, .together = 2}, Recomputation{.layers = 5, .together = 4}}) {
    CAPTURE(meter.device, dtype, some.layers, some.together);
    const double training = counted_policy(meter, alone.mesh, model, step, some);
    check_near("training", training_activation_bytes(spec, rule_for(meter, dtype, some)), training);
    if (some.together == 1) CHECK(training > before);
    before = training;
  }
}

TEST_CASE("what ranks that share a model take of a micro-batch is estimated within a tenth", "[train]") {
  const test::TemporaryFolder folder;
  const auto [cp, tp] = GENERATE(table<int64_t, int64_t>({{1, 2}, {2, 1}, {2, 2}}));
  InitSizes sizes;
  sizes.arch = GENERATE("qwen2", "qwen3", "llama");
  // So few weights that the norm of their gradients, of which a CPU widens a block, takes less.
  sizes.vocab = 128, sizes.hidden = 32, sizes.intermediate = 96, sizes.layers = 2, sizes.heads = 4;
  sizes.kv_heads = sizes.arch == "llama" ? 4 : 2, sizes.head_dim = 16, sizes.tie = sizes.arch == "qwen2";
  const ModelSpec spec = make_spec(sizes, {});
  Meter meter{GENERATE(true, false) ? test::fake_device() : at::Device(at::kCPU)};
  const auto dtype = GENERATE(at::kBFloat16, at::kFloat);
  const test::Multiplying multiplying(false);
  const Recomputation recomputation = GENERATE(Recomputation{}, kEveryLayer);
  CAPTURE(cp, tp, sizes.arch, meter.device, dtype, recomputation.layers);
  Transformer::init(spec, 1).save(folder / "m");
  test::MirrorRanks world(static_cast<int>(cp * tp));
  Mesh mesh(world, {.cp = cp, .tp = tp});
  const Transformer model = by_kernels(Transformer::load(folder / "m", meter.device, dtype, model_parallel(mesh)));
  const Experience step = sequences_of(2 * kSequences);
  ActivationRule rule = rule_for(meter, dtype, recomputation);
  rule.cp = cp, rule.tp = tp;
  check_near("training", training_activation_bytes(spec, rule),
             counted_policy(meter, mesh, model, step, recomputation));
  if (recomputation.layers == 0)
    check_near("log-probs", forward_activation_bytes(spec, rule), counted_log_probs(meter, mesh, model, step));
}

TEST_CASE("what attention takes where its sums have one order is estimated within a tenth", "[train]") {
  const auto restored = at::globalContext().deterministicAlgorithms();
  ModelSpec spec = small_architectures()[1];
  Meter meter{test::fake_device()};
  const Transformer model = by_kernels(Transformer::init(spec, 1, meter.device, at::kBFloat16));
  const Experience step = sequences_of(2 * kSequences);
  Alone alone;
  ActivationRule rule = rule_for(meter, at::kBFloat16);
  const double free = training_activation_bytes(spec, rule);
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false);
  const double counted = counted_policy(meter, alone.mesh, model, step, {});
  at::globalContext().setDeterministicAlgorithms(restored, /*warn_only=*/false);
  rule.deterministic = true;
  check_near("training", training_activation_bytes(spec, rule), counted);
  CHECK(counted > 1.5 * free);
}

TEST_CASE("what a critic's micro-batches take is estimated within a tenth", "[train]") {
  const test::TemporaryFolder folder;
  const ModelSpec spec = small_architectures()[0];
  Transformer::init(spec, 1).save(folder / "m");
  Meter meter{GENERATE(true, false) ? test::fake_device() : at::Device(at::kCPU)};
  const auto dtype = GENERATE(at::kBFloat16, at::kFloat);
  const test::Multiplying multiplying(false);
  CAPTURE(meter.device, dtype);
  const ValueModel model = by_kernels(ValueModel::load(folder / "m", meter.device, dtype));
  const Experience step = sequences_of(2 * kSequences);
  const CriticLoss critic_loss(RoleLossSettings{});
  Alone alone;
  const double training = counted_training(meter, alone.mesh, model.parameters(), model.parts(), step,
                                           [&](const Experience& e, const MiniBatchCounts& counts) {
                                             return critic_loss(e, model.values(e.tokens), counts);
                                           });
  const double forward =
      counted_forward(meter, alone.mesh, step, [&](const Batch& b) { return model.values(b.tokens); });
  ActivationRule rule = rule_for(meter, dtype);
  rule.has_lm_head = false;
  check_near("training", training_activation_bytes(spec, rule), training);
  check_near("values", forward_activation_bytes(spec, rule), forward);
}

}  // namespace roll
