// The device's decoder with its kernels run by simulated lanes: what the CPU's decoder gives, through the scheduler.
#include "rollout/device_steps.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "decode/device_decoder.h"
#include "device/fake_recorder.h"
#include "model/adapted_model.h"
#include "model/init_spec.h"
#include "model/odd_layers.h"
#include "model/transformer.h"
#include "rollout/simulated_steps.h"

namespace roll {

using test::grouped_requests;
using test::random_model;
using test::require_same;
using test::sampling_params;
using test::simulated;
using test::spec_of;
using test::StepSizes;

TEST_CASE("the device's steps give the CPU decoder's responses, under evictions, forks and pieces", "[rollout]") {
  const auto [heads, kv_heads, has_extras] =
      GENERATE(table<int64_t, int64_t, bool>({{4, 2, false}, {4, 4, true}, {12, 1, true}, {6, 2, false}}));
  const Transformer model = random_model(spec_of(heads, kv_heads, has_extras));
  const auto requests = grouped_requests(20);
  const SamplingParams params = sampling_params();
  const auto steps = make_step_model(model, {.num_slots = 100, .max_length = 60});
  const auto expected = generate_with(*steps, requests, params);
  for (const StepSizes& sizes : {StepSizes{}, StepSizes{.num_slots = 1}, StepSizes{.num_slots = 5, .max_rows = 6},
                                 StepSizes{.num_pages = 10, .max_rows = 20}}) {
    if (has_extras && sizes.num_slots == 18 && sizes.num_pages == 0) continue;  // lanes cost seconds
    CAPTURE(sizes.num_slots, sizes.num_pages, sizes.max_rows);
    SamplerCounts counts;
    require_same(generate_with(*simulated(model, sizes), requests, params, {}, {.counts = &counts}), expected, 1e-5);
    CHECK((counts.evictions > 0) == (sizes.num_pages == 10));
  }
}

TEST_CASE("the device's decoder computes the blocks that layers are described by", "[rollout]") {
  const Transformer model = test::odd_layered_model("odd", /*head_dim=*/8);
  REQUIRE(has_device_kernels(model));
  CHECK_FALSE(has_device_kernels(test::odd_layered_model("odd")));        // heads of 22
  CHECK_FALSE(has_device_kernels(test::odd_layered_model("uneven", 8)));  // whose pages differ
  const auto requests = grouped_requests(20);
  const SamplingParams params = sampling_params();
  const auto expected = generate_with(*make_step_model(model, {.num_slots = 18, .max_length = 60}), requests, params);
  require_same(generate_with(*simulated(model, {.num_slots = 5}), requests, params), expected, 1e-5);
}

TEST_CASE("the device's decoder computes what architectures change, as the CPU's does", "[rollout]") {
  // Partial and interleaved RoPE behind other norms, no RoPE in some layers, scaled branches, embeddings and logits,
  // norms around 1 with GeGLU, queries that grow.
  const std::string arch = GENERATE("glm4", "glm", "smollm3", "granite", "gemma", "phi3", "ministral3", "ernie4_5");
  INFO(arch);
  InitSizes sizes;
  sizes.arch = arch, sizes.vocab = 61, sizes.hidden = 32, sizes.layers = 4, sizes.heads = 4, sizes.kv_heads = 2;
  sizes.head_dim = 16, sizes.intermediate = 48;
  ModelSpec spec = make_spec(sizes, {});
  if (arch == "granite") spec.embedding_scale = 3, spec.logit_scale = 0.25, spec.branch_scale = 0.5;
  const Transformer model = random_model(spec);
  REQUIRE(has_device_kernels(model));
  const auto requests = grouped_requests(20);
  const SamplingParams params = sampling_params();
  const auto expected = generate_with(*make_step_model(model, {.num_slots = 18, .max_length = 60}), requests, params);
  require_same(generate_with(*simulated(model, {.num_slots = 5}), requests, params), expected, 2e-5);
}

TEST_CASE("the device samples from the weights with their adapters", "[rollout]") {
  const LoraSpec lora{.rank = 3, .use_dora = true, .quantise_base = Quantisation::kInt8};
  const Transformer model = test::adapted_model(random_model(spec_of(4, 2, false)), lora);
  const auto requests = grouped_requests(20);
  const SamplingParams params = sampling_params();
  const auto expected = generate_with(*make_step_model(model, {.num_slots = 18, .max_length = 60}), requests, params);
  require_same(generate_with(*simulated(model, {.num_slots = 5}), requests, params), expected, 1e-5);
}

TEST_CASE("few rows split long sequences over blocks, to the same responses", "[rollout]") {
  const Transformer model = random_model(spec_of(4, 2, false));
  auto requests = grouped_requests(400);
  std::erase_if(requests, [](const GenerationRequest& request) { return request.sequence_id % 10 > 0; });
  SamplingParams params = sampling_params();
  params.shares_prefill = false;
  const auto steps = make_step_model(model, {.num_slots = 18, .max_length = 430});
  const auto expected = generate_with(*steps, requests, params);
  const StepSizes sizes{.num_slots = GENERATE(3, 18), .max_rows = 150, .max_length = 430};
  require_same(generate_with(*simulated(model, sizes), requests, params), expected, 2e-5);
}

TEST_CASE("penalties, biases and filters of single requests hold on the device", "[rollout]") {
  const Transformer model = random_model(spec_of(4, 2, false));
  auto requests = grouped_requests(20);
  const SamplingParams params = sampling_params();
  for (size_t i = 0; i < requests.size(); ++i) {
    SamplingSettings own = params.generating;
    if (i % 2 == 1) own.repetition_penalty = 1.3, own.frequency_penalty = 0.4;
    if (i % 3 == 1) own.logit_bias = {{5, 3.0}, {7, -2.0}, {static_cast<int64_t>(i), 1.0}};
    if (i % 4 == 1) own.top_p = 0.8;
    if (i % 5 == 1) own.top_k = 7, own.min_p = 0.02;
    if (i % 7 == 1) own.temperature = 0;
    requests[i].generating = own;
  }
  const auto steps = make_step_model(model, {.num_slots = 100, .max_length = 60});
  const auto expected = generate_with(*steps, requests, params);
  const StepSizes sizes{.num_slots = 5, .num_pages = GENERATE(0, 10)};
  require_same(generate_with(*simulated(model, sizes), requests, params), expected, 1e-5);
}

TEST_CASE("a step that decodes takes nine dispatches a layer, and nothing else from the host", "[rollout]") {
  const Transformer model = random_model(spec_of(4, 2, true));
  std::vector<std::string> log;
  const auto steps = simulated(model, {.num_slots = 3}, &log);
  const SamplingParams params = sampling_params();
  const std::vector<int64_t> prompt = {5, 6, 7};
  steps->launch(test::seat_prompts(*steps, 3, prompt));
  CHECK(std::ranges::count(log, "update") == 1);
  const StepPlan decoding{.copies = {}, .pieces = {}, .decoding = {{.slot = 0}, {.slot = 1}, {.slot = 2}}};
  for (int step = 0; step < 4; ++step) {
    log.clear();
    steps->launch(decoding);
    const auto layers = model.spec().num_layers;
    CHECK(std::ssize(log) ==
          9 * layers + 6);  // and the embedding, the head, the draw in four; no norm behind the last layer
    CHECK(std::ranges::count(log, "multiply") == 4 * layers + 1);
    CHECK(std::ranges::count(log, "update") + std::ranges::count(log, "copy") == 0);
    CHECK(steps->collect().size() == 3);
  }
  CHECK(steps->collect().size() == 3);
}

TEST_CASE("steps that decode are recorded, and give what they give as they are", "[rollout]") {
  const Transformer model = random_model(spec_of(4, 2, false));
  auto requests = grouped_requests(20);
  const SamplingParams params = sampling_params();
  const StepSizes sizes{.num_slots = 6};
  const auto expected = generate_with(*simulated(model, sizes), requests, params);
  FakeGraphs graphs;
  require_same(generate_with(*simulated(model, sizes, nullptr, graphs.recorder()), requests, params), expected, 1e-5);
  CHECK((graphs.recorded > 0 && graphs.recorded <= 4));  // of 1, 2, 4 and 6 rows
  CHECK(graphs.replayed > 4 * graphs.recorded);

  // The first request whose penalties want room comes when graphs are there: they hold addresses of memory that moves.
  requests.back().generating = params.generating;
  requests.back().generating->frequency_penalty = 0.5;
  const auto penalised = generate_with(*simulated(model, sizes), requests, params);
  FakeGraphs again;
  require_same(generate_with(*simulated(model, sizes, nullptr, again.recorder()), requests, params), penalised, 1e-5);
  CHECK(again.recorded > graphs.recorded);
}

TEST_CASE("steps in narrow floats give log-probs near those of float32", "[rollout]") {
  const ModelSpec spec = spec_of(4, 2, true);
  const auto [dtype, margin] = GENERATE(table<at::ScalarType, double>({{at::kBFloat16, 0.1}, {at::kHalf, 0.015}}));
  const Transformer half = random_model(spec, dtype);
  Transformer wide = random_model(spec);
  {
    const at::NoGradGuard no_grad;
    for (size_t i = 0; i < wide.parameters().size(); ++i)
      wide.parameters()[i].second.copy_(half.parameters()[i].second);
  }
  REQUIRE(has_device_kernels(half));
  SamplingParams params = sampling_params();
  params.generating.max_new_tokens = 1;  // later ones would follow other tokens
  const auto requests = grouped_requests(20);
  const auto exact = generate_with(*make_step_model(wide, {.num_slots = 18, .max_length = 60}), requests, params);
  const auto found = generate_with(*simulated(half, {}), requests, params);
  int64_t same = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    if (found[i].ids != exact[i].ids) continue;
    ++same;
    CHECK(found[i].log_probs[0] == Approx(exact[i].log_probs[0]).margin(margin));
  }
  CHECK(same >= 15);
}

TEST_CASE("logits that are no numbers end the device's steps with an error", "[rollout]") {
  Transformer model = random_model(spec_of(4, 2, false));
  {
    const at::NoGradGuard no_grad;
    for (auto& [name, tensor] : model.parameters())
      if (name.find("embed") != std::string::npos) tensor[5][0] = std::numeric_limits<float>::quiet_NaN();
  }
  const auto steps = simulated(model, {});
  CHECK_THROWS_AS(generate_with(*steps, grouped_requests(5), sampling_params()), SystemError);
}

}  // namespace roll
