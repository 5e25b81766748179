#include "forecast/model_trial.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "base/clock.h"
#include "job/join.h"
#include "machine/device_speed.h"
#include "machine/machine.h"
#include "model/device.h"
#include "model/log_probs.h"
#include "optim/learner.h"
#include "rollout/sampler_bench.h"

namespace roll {

namespace {

constexpr double kPeak_s = 0.05, kMicroBatch_s = 0.2, kPrompts_s = 0.5;  // the last two: approximate, at peak speed
constexpr int64_t kTriedLayers = 5;
constexpr int64_t kMostVocabulary = 1 << 15, kLeastTokens = 64, kMostTokens = 4096;
constexpr int64_t kNewTokens = 12;        // per trial prompt, after all have begun
constexpr double kBytesOfParameter = 16;  // in training: weight, gradient and two moments, 4 bytes each
constexpr double kMemoryShare = 0.5;      // share of free memory
constexpr double kEnough_s = 0.5;         // time to repeat quick runs, within these counts:
constexpr int64_t kLeastRuns = 3, kMostRuns = 9;

/// Returns the model's first layers, with part of its vocabulary.
ModelSpec thin(ModelSpec spec, int64_t layers) {
  spec.num_layers = layers;
  spec.keyless_layers = std::min(spec.keyless_layers, layers - 1);
  spec.vocab_size = std::min(spec.vocab_size, kMostVocabulary);
  spec.quantised.reset();  // random weights are not quantised
  spec.bitsandbytes.reset();
  return spec;
}

bool fits(const TriedModel& model, int64_t layers) {
  const int64_t free = model.device.is_cuda() ? unused_device_bytes(model.device).all() : host_memory().usable_bytes();
  return kBytesOfParameter * static_cast<double>(thin(model.spec, layers).num_parameters()) <=
         kMemoryShare * static_cast<double>(free);
}

/// Returns the number of layers of the larger trial: a few, and at least one of each kind, as far as memory allows.
int64_t tried_layers(const TriedModel& model) {
  std::vector<double> costs;
  for (const Layer& layer : model.spec.layers())
    costs.push_back(ForwardFlops(model.spec, {layer}, false, false)(1024, 0));
  int64_t layers = kTriedLayers;
  for (auto cost = costs.begin(); cost != costs.end(); ++cost)
    if (std::find(costs.begin(), cost, *cost) == cost) layers = std::max(layers, cost - costs.begin() + 1);
  layers = std::min(layers, model.spec.num_layers);
  while (layers > 2 && !fits(model, layers)) --layers;
  return layers;
}

/// Extrapolates seconds linearly over work, from one or two measurements.
class Growth {
 public:
  void add(double work, double seconds) { points_.push_back({work, seconds}); }
  double seconds(double work) const {
    const auto [first_work, first_s] = points_.front();
    const auto [last_work, last_s] = points_.back();
    if (last_work <= first_work) return first_s * work / first_work;
    // Limits the effect of noise: the slope is at least a quarter of the larger trial's mean.
    const double slope = std::max((last_s - first_s) / (last_work - first_work), last_s / last_work / 4);
    return last_s + slope * (work - last_work);
  }

 private:
  struct Point {
    double work, seconds;
  };
  std::vector<Point> points_;
};

/// Returns the least time of several runs after a warm-up; other load only makes runs slower.
double least_seconds_of_runs(const std::function<double()>& run) {
  run();
  const Stopwatch watch;
  double least = run();
  for (int64_t runs = 1; runs < kLeastRuns || (runs < kMostRuns && watch.seconds() < kEnough_s); ++runs)
    least = std::min(least, run());
  return least;
}

/// Returns the number of trained parameters, which determines the time of an update.
double num_trained(const ModelSpec& spec) {
  double trained = 0;
  for (const ParameterShape& parameter : select_trained(spec, policy_parameters(spec)))
    trained += std::accumulate(parameter.shape.begin(), parameter.shape.end(), 1.0, std::multiplies<>());
  return trained;
}

/// Returns sequences of the wanted length with about `tokens` tokens in all.
PackedTokens micro_batch(const TriedModel& model, const TrainingShape& shape, int64_t tokens) {
  const int64_t length = std::clamp<int64_t>(shape.length, 2, tokens);
  std::vector<std::vector<int64_t>> sequences(std::max<int64_t>(1, tokens / length));
  const int64_t vocabulary = std::min(model.spec.vocab_size, kMostVocabulary);
  int64_t id = 0;
  for (auto& sequence : sequences)
    while (std::ssize(sequence) < length) sequence.push_back(id = (id * 31 + 7) % vocabulary);
  return pack_tokens(sequences, model.device);
}

double batch_flops(const ModelSpec& spec, const PackedTokens& tokens, bool has_head) {
  const ForwardFlops forward(spec);
  double flops = 0;
  for (int64_t i = 0; i < tokens.num_sequences(); ++i)
    flops += forward(tokens.length(i), has_head ? tokens.length(i) : 0);
  return flops;
}

struct StepTimes {
  double forward_s = 0, training_s = 0, update_s = 0;
};

StepTimes time_training(const TriedModel& tried, const TrainingShape& shape, const PackedTokens& tokens) {
  const Transformer model = Transformer::init(tried.spec, /*seed=*/1, tried.device, tried.dtype);
  const auto compute = [&](const Recomputation& recomputes, bool trains) {
    if (!shape.has_head) return model.forward(tokens, recomputes).sum(at::kFloat);
    return token_log_probs(model, tokens, /*temperature=*/1, /*with_entropy=*/trains, recomputes).log_probs.sum();
  };
  StepTimes times;
  times.forward_s = least_seconds_of_runs([&] {
    const at::NoGradGuard guard;
    const Stopwatch watch;
    compute({}, false).item<float>();  // waits for the device
    return watch.seconds();
  });
  const auto single_rank = make_communicator({.kind = Transport::kSingle});
  Learner learner("trial", model.trained(), {.schedule = {.type = LrScheduleType::kConstant, .peak_lr = 1e-9}},
                  *single_rank);
  times.update_s = std::numeric_limits<double>::max();
  times.training_s = least_seconds_of_runs([&] {
    const Stopwatch watch;
    const UpdateResult update = learner.update(1, [&](int64_t) { return compute(shape.recomputes, true) * 1e-6; });
    times.update_s = std::min(times.update_s, watch.seconds() - update.compute_s);
    return update.compute_s;
  });
  return times;
}

}  // namespace

bool can_be_tried(const TriedModel& model) {
  return fits(model, std::min<int64_t>(2, model.spec.num_layers));
}

TrainingSpeed try_training(const TriedModel& model, const TrainingShape& shape) {
  const double peak = best_matmul_peak(model.device, model.dtype, kPeak_s);
  const int64_t most_layers = tried_layers(model);
  const double token_flops = 3 * thin(model.spec, most_layers).forward_flops(kLeastTokens, kLeastTokens) / kLeastTokens;
  const auto affordable = static_cast<int64_t>(kMicroBatch_s * peak / token_flops);
  const int64_t most_tokens = std::clamp<int64_t>(shape.tokens, 2, kMostTokens);
  const PackedTokens tokens =
      micro_batch(model, shape, std::clamp(affordable, std::min(kLeastTokens, most_tokens), most_tokens));
  const auto passes = [&](int64_t layers) { return 3 + shape.recomputes.recomputed_share(layers); };
  Growth forward, training, update;
  for (const int64_t layers : {std::min<int64_t>(1, most_layers - 1), most_layers}) {
    if (layers == 0) continue;
    const TriedModel tried{thin(model.spec, layers), model.device, model.dtype};
    const StepTimes times = time_training(tried, shape, tokens);
    const double flops = batch_flops(tried.spec, tokens, shape.has_head);
    forward.add(flops, times.forward_s);
    training.add(passes(layers) * flops, times.training_s);
    update.add(num_trained(tried.spec), times.update_s);
  }
  const double flops = batch_flops(model.spec, tokens, shape.has_head);
  const double trained = passes(model.spec.num_layers) * flops;
  return {.forward_flops_per_s = flops / forward.seconds(flops),
          .training_flops_per_s = trained / training.seconds(trained),
          .update_s = update.seconds(num_trained(model.spec))};
}

SamplingSpeed try_sampling(const TriedModel& model, const SamplingShape& shape) {
  const auto element = static_cast<int64_t>(c10::elementSize(model.dtype));
  const NumberBytes bytes{sampled_weight_bytes(shape.weight_bits, static_cast<double>(element)), element};
  const int64_t most_layers = tried_layers(model), context = std::max<int64_t>(shape.context, 2);
  SamplingSpeed speed;
  speed.peak = {
      measure_read_bandwidth(
          model.device, static_cast<int64_t>(step_cost(model.spec, bytes, shape.slots, context - 1, context).bytes)),
      best_matmul_peak(model.device, model.dtype, kPeak_s)};
  const double token_flops = thin(model.spec, most_layers).forward_flops(kLeastTokens, 1) / kLeastTokens;
  const auto affordable = static_cast<int64_t>(kPrompts_s * speed.peak.flops_per_s / token_flops) / shape.slots;
  // Sequences with recurrent states start one after the other, so they need more steps.
  const BenchShape bench{.batch = shape.slots,
                         .prompt_tokens = std::clamp<int64_t>(affordable, 8, context),
                         .new_tokens = kNewTokens + (model.spec.delta ? shape.slots : 0)};
  Growth prompts, decoding;
  double length = 0;
  for (const int64_t layers : {std::min<int64_t>(1, most_layers - 1), most_layers}) {
    if (layers == 0) continue;
    const ModelSpec spec = thin(model.spec, layers);
    const Transformer tried = Transformer::init(spec, /*seed=*/1, model.device, model.dtype);
    const auto steps = make_step_model(tried, {.num_slots = bench.batch,
                                               .max_length = bench.prompt_tokens + bench.new_tokens,
                                               .weight_bits = shape.weight_bits});
    PagePool pages(steps->num_pages(), steps->page_size());
    const BenchResult result = bench_sampler(
        *steps, pages, {.generating = shape.draws, .max_running_requests = shape.slots}, bench, [] { return false; });
    length = result.decode_length;
    const auto end = static_cast<int64_t>(length);
    prompts.add(spec.forward_flops(bench.prompt_tokens, 1), result.prefill_s);
    decoding.add(least_seconds(step_cost(spec, bytes, shape.slots, end - 1, end), speed.peak),
                 result.decode_s / static_cast<double>(result.decode_steps));
  }
  const auto end = static_cast<int64_t>(length);
  const double flops = model.spec.forward_flops(bench.prompt_tokens, 1);
  const double least_s = least_seconds(step_cost(model.spec, bytes, shape.slots, end - 1, end), speed.peak);
  speed.prompt_flops_per_s = static_cast<double>(shape.slots) * flops / prompts.seconds(flops);
  speed.decoding_share = least_s / decoding.seconds(least_s);
  return speed;
}

}  // namespace roll
