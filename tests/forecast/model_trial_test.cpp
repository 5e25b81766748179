#include "forecast/model_trial.h"

#include <catch2/catch.hpp>

#include "model/model_folder.h"

namespace roll {
namespace {

ModelSpec tiny(int64_t layers) {
  ModelSpec spec;
  spec.vocab_size = 64, spec.hidden_size = 16, spec.intermediate_size = 32, spec.num_layers = layers;
  spec.num_heads = 2, spec.num_kv_heads = 1, spec.head_dim = 8;
  return spec;
}

bool is_speed(double x) {
  return x > 0 && x < 1e15;
}

}  // namespace

TEST_CASE("a model of any depth is tried by a few of its layers", "[forecast]") {
  // Models of 4,096 layers are never made: that would take minutes.
  for (const int64_t layers : {int64_t{1}, int64_t{2}, SizeLimits::kLayers}) {
    const TriedModel model{.spec = tiny(layers)};
    const TrainingSpeed training = try_training(model, {.length = 16, .tokens = 64, .recomputes = kEveryLayer});
    CHECK(is_speed(training.forward_flops_per_s));
    CHECK(is_speed(training.training_flops_per_s));
    CHECK(training.update_s > 0);
    const SamplingSpeed sampling = try_sampling(model, {.slots = 2, .context = 8, .draws = {.temperature = 1}});
    CHECK(is_speed(sampling.prompt_flops_per_s));
    CHECK(is_speed(sampling.decoding_share));
  }
}

TEST_CASE("a large vocabulary is tried by a part of it", "[forecast]") {
  ModelSpec spec = tiny(1);
  spec.vocab_size = 50'000;
  CHECK(is_speed(try_training({.spec = spec}, {.length = 16, .tokens = 64}).training_flops_per_s));
}

TEST_CASE("adapters and a critic are tried as they are trained", "[forecast]") {
  ModelSpec spec = tiny(2);
  const TrainingSpeed all = try_training({.spec = spec}, {.length = 16, .tokens = 64, .has_head = false});
  CHECK(is_speed(all.training_flops_per_s));
  spec = with_adapters(spec, LoraSpec{.rank = 2}, "tiny");
  CHECK(is_speed(try_training({.spec = spec}, {.length = 16, .tokens = 64}).training_flops_per_s));
}

}  // namespace roll
