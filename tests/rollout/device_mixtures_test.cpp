// Mixtures of experts in the device's decoder, with kernels run by simulated lanes: what the CPU's decoder gives.
#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "decode/decoder.h"
#include "decode/device_decoder.h"
#include "device/fake_recorder.h"
#include "model/adapted_model.h"
#include "model/telling_model.h"
#include "rollout/simulated_steps.h"

namespace roll {

using test::grouped_requests;
using test::require_same;
using test::sampling_params;
using test::simulated;
using test::StepSizes;

namespace {

/// Softmax routing (qwen3_moe), with a gated shared expert (qwen2_moe), or sigmoids with biases beside an ungated one
/// (solar_open), also behind a layer without experts and with partial RoPE (glm4_moe).
Transformer mixture_of(const char* arch) {
  InitSizes sizes;
  sizes.arch = arch, sizes.vocab = 61, sizes.hidden = 32, sizes.layers = 2, sizes.heads = 4, sizes.kv_heads = 2;
  sizes.head_dim = 8, sizes.intermediate = 48, sizes.experts = 6, sizes.experts_per_token = 3;
  sizes.expert_intermediate = 24;
  return test::telling_model(sizes);
}

}  // namespace

TEST_CASE("the device's mixtures give the CPU decoder's responses, under evictions, forks and pieces", "[rollout]") {
  const Transformer model = mixture_of(GENERATE("qwen3_moe", "qwen2_moe", "solar_open", "glm4_moe"));
  INFO(model.spec().architecture->name);
  REQUIRE(has_device_kernels(model));
  const auto requests = grouped_requests(20);
  const SamplingParams params = sampling_params();
  const auto expected = generate_with(*make_step_model(model, {.num_slots = 18, .max_length = 60}), requests, params);
  for (const StepSizes& sizes :
       {StepSizes{.num_slots = 5, .max_rows = 6}, StepSizes{.num_pages = 10, .max_rows = 20}}) {
    FakeGraphs graphs;
    require_same(generate_with(*simulated(model, sizes, nullptr, graphs.recorder()), requests, params), expected, 2e-5);
    CHECK(graphs.replayed > graphs.recorded);
  }
}

TEST_CASE("groups of experts and scaled weights are those of the CPU's decoder", "[rollout]") {
  Transformer plain = mixture_of("solar_open");
  ModelSpec spec = plain.spec();
  spec.mixture->routing.groups = 3, spec.mixture->routing.chosen_groups = 2, spec.mixture->routing.scale = 2.5;
  const Transformer model = Transformer::init(spec, 1);
  {
    const at::NoGradGuard no_grad;
    for (size_t i = 0; i < model.parameters().size(); ++i)
      at::Tensor(model.parameters()[i].second).copy_(plain.parameters()[i].second);
  }
  REQUIRE(has_device_kernels(model));
  const auto requests = grouped_requests(20);
  const auto on_cpu = [&](const Transformer& of) {
    return generate_with(*make_step_model(of, {.num_slots = 18, .max_length = 60}), requests, sampling_params());
  };
  const auto expected = on_cpu(model);
  CHECK(expected[0].log_probs[0] != on_cpu(plain)[0].log_probs[0]);
  require_same(generate_with(*simulated(model, {.num_slots = 5}), requests, sampling_params()), expected, 2e-5);
}

TEST_CASE("the device takes no more memory than is planned", "[rollout]") {
  const Transformer model = mixture_of(GENERATE("qwen3_moe", "qwen2_moe"));
  int64_t allocated = 0;
  const DecoderSizes sizes{.page_size = 8, .num_pages = 1, .max_length = 8, .max_rows = 70};
  SimulatedLauncher launcher(nullptr, &allocated);
  make_device_decoder(model, sizes, /*num_slots=*/9, launcher);
  const int64_t cache = page_bytes(model, 8);
  const int64_t most = device_decoder_bytes(model, sizes.max_rows, 9, launcher.num_processors());
  CHECK(allocated > cache);
  CHECK(allocated - cache <= most);
  const int64_t parts = 8 * launcher.num_processors() * kMaxHeadDim * 4 * static_cast<int64_t>(sizeof(float));
  CHECK(most - parts < 1.3 * (allocated - cache));  // attention's partial results are few here
}

TEST_CASE("mixtures with adapters on their experts are left to LibTorch's operators", "[rollout]") {
  const Transformer model = mixture_of("qwen3_moe");
  CHECK(has_device_kernels(model));
  CHECK_FALSE(has_device_kernels(test::adapted_model(model, {.rank = 3})));
}

TEST_CASE("a response that ends at once has the experts of its prompt, which others of its group computed",
          "[rollout]") {
  const Transformer model = mixture_of("qwen3_moe");
  const auto requests = grouped_requests(20);
  SamplingParams params = sampling_params();
  params.generating.max_new_tokens = 1;
  const bool on_device = GENERATE(false, true);
  const auto steps = on_device ? simulated(model, {.num_slots = 5, .max_rows = 20, .records_experts = true})
                               : make_step_model(model, {.num_slots = 5, .max_length = 60, .records_experts = true});
  const auto found = generate_with(*steps, requests, params);
  params.shares_prefill = false;
  const auto alone = generate_with(*steps, requests, params);
  for (size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i, on_device);
    CHECK(found[i].routed_experts.size() == 2 * 3 * requests[i].prompt_ids.size());
    CHECK(found[i].routed_experts == alone[i].routed_experts);
  }
}

TEST_CASE("the experts that the device chooses are recorded, through forks and copies", "[rollout]") {
  const Transformer model = mixture_of("qwen3_moe");
  const auto requests = grouped_requests(20);
  const SamplingParams params = sampling_params();
  const auto on_cpu = make_step_model(model, {.num_slots = 18, .max_length = 60, .records_experts = true});
  const auto expected = generate_with(*on_cpu, requests, params);
  const StepSizes sizes{.num_slots = 5, .num_pages = GENERATE(0, 10), .max_rows = 20, .records_experts = true};
  FakeGraphs graphs;
  const auto found = generate_with(*simulated(model, sizes, nullptr, graphs.recorder()), requests, params);
  require_same(found, expected, 2e-5);
  for (size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    CHECK(expected[i].routed_experts.size() == 2 * 3 * (requests[i].prompt_ids.size() + expected[i].ids.size() - 1));
    CHECK(found[i].routed_experts == expected[i].routed_experts);
  }
}

TEST_CASE("a step through a mixture takes twelve dispatches a layer, and nothing else from the host", "[rollout]") {
  std::vector<std::string> log;
  const Transformer model = mixture_of("qwen3_moe");
  const auto steps = simulated(model, {.num_slots = 2}, &log);
  const std::vector<int64_t> prompt = {5, 6, 7};
  steps->launch(test::seat_prompts(*steps, 2, prompt));
  log.clear();
  steps->launch({.copies = {}, .pieces = {}, .decoding = {{.slot = 0}, {.slot = 1}}});
  CHECK(std::ssize(log) == 12 * model.spec().num_layers + 6);
  CHECK(std::ranges::count(log, "multiply") == 3 * model.spec().num_layers + 1);
  steps->collect(), steps->collect();
}

TEST_CASE("mixtures in narrow floats give log-probs near those of float32", "[rollout]") {
  const Transformer wide = mixture_of("qwen2_moe");
  const auto [dtype, margin] = GENERATE(table<at::ScalarType, double>({{at::kBFloat16, 0.15}, {at::kHalf, 0.02}}));
  const Transformer narrow = Transformer::init(wide.spec(), 1, at::kCPU, dtype);
  {
    const at::NoGradGuard no_grad;
    for (size_t i = 0; i < wide.parameters().size(); ++i) {
      at::Tensor(narrow.parameters()[i].second).copy_(wide.parameters()[i].second);
      at::Tensor(wide.parameters()[i].second).copy_(narrow.parameters()[i].second);
    }
  }
  REQUIRE(has_device_kernels(narrow));
  SamplingParams params = sampling_params();
  params.generating.max_new_tokens = 1;  // later ones would follow other tokens
  const auto requests = grouped_requests(20);
  const auto exact = generate_with(*make_step_model(wide, {.num_slots = 18, .max_length = 60}), requests, params);
  const auto found = generate_with(*simulated(narrow, {}), requests, params);
  int64_t near = 0;
  for (size_t i = 0; i < requests.size(); ++i)
    near += found[i].ids == exact[i].ids && std::abs(found[i].log_probs[0] - exact[i].log_probs[0]) < margin;
  CHECK(near >= 15);  // a rounded router may choose other experts
}

}  // namespace roll
