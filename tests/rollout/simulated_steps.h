// Models, requests and steps on simulated lanes, for tests of the device's steps.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <catch2/catch.hpp>

#include "decode/simulated_launcher.h"
#include "model/transformer.h"
#include "rollout/device_steps.h"
#include "rollout/fake_model.h"
#include "rollout/sampling_params.h"

namespace roll::test {

inline ModelSpec spec_of(int64_t heads, int64_t kv_heads, bool has_extras) {
  ModelSpec spec;
  spec.vocab_size = 61;
  spec.hidden_size = 32;
  spec.intermediate_size = 48;
  spec.num_layers = 2;
  spec.num_heads = heads;
  spec.num_kv_heads = kv_heads;
  spec.head_dim = 8;
  spec.max_positions = 512;
  spec.tied_head = !has_extras;
  spec.qkv_bias = true;
  spec.o_bias = has_extras;
  spec.mlp_bias = has_extras;
  spec.qk_norm = has_extras;
  return spec;
}

/// Far from uniform, so that a wrong token shows; biases and norms differ from none.
inline Transformer random_model(const ModelSpec& spec, at::ScalarType dtype = at::kFloat) {
  Transformer model = Transformer::init(spec, 7, at::kCPU, dtype);
  const at::NoGradGuard no_grad;
  uint32_t position = 0;
  for (auto& [name, tensor] : model.parameters())
    if (tensor.dim() == 2)
      tensor.mul_(12);
    else
      for (int64_t i = 0; i < tensor.numel(); ++i)
        tensor[i] += 0.3 * random_normal({.seed = 9, .purpose = Purpose::kInit, .position = ++position});
  return model;
}

struct StepSizes {
  int64_t num_slots = 18, num_pages = 0, max_rows = 512, max_length = 60;
  bool records_experts = false;
};

inline std::unique_ptr<StepModel> simulated(const Transformer& model, const StepSizes& sizes,
                                            std::vector<std::string>* log = nullptr,
                                            std::unique_ptr<GraphRecorder> recorder = nullptr) {
  const int64_t all = sizes.num_slots * pages_for(sizes.max_length, 8);
  return make_device_steps(model,
                           {.page_size = 8,
                            .num_pages = sizes.num_pages > 0 ? sizes.num_pages : all,
                            .max_length = sizes.max_length,
                            .max_rows = std::max(sizes.max_rows, sizes.num_slots),
                            .records_experts = sizes.records_experts},
                           sizes.num_slots, std::make_unique<SimulatedLauncher>(log), std::move(recorder));
}

/// Seats the prompt in the first num_slots slots, each with two pages of its own. Returns the plan that computes it and
/// draws a token for each.
inline StepPlan seat_prompts(StepModel& steps, int64_t num_slots, const std::vector<int64_t>& prompt) {
  StepPlan plan;
  for (int64_t slot = 0; slot < num_slots; ++slot) {
    steps.seat(slot, {.generating = sampling_params().generating,
                      .name = {.sequence = static_cast<uint64_t>(slot)},
                      .prompt = prompt,
                      .drawn = {}});
    steps.set_pages(slot, 0, std::vector<int32_t>{static_cast<int32_t>(slot), static_cast<int32_t>(num_slots + slot)});
    plan.pieces.push_back({.slot = slot, .begin = 0, .ids = prompt, .draws = {slot}});
  }
  return plan;
}

inline std::vector<GenerationRequest> grouped_requests(int64_t longest) {
  std::vector<GenerationRequest> requests;
  for (int64_t g = 0; g < 6; ++g) {
    std::vector<int64_t> prompt;
    for (int64_t i = 0; i <= g * longest / 5; ++i) prompt.push_back((g * 31 + i * 17) % 61);
    for (int64_t i = 0; i < 3; ++i) requests.push_back({prompt, static_cast<uint64_t>(10 * g + i)});
  }
  return requests;
}

inline void require_same(const std::vector<Generation>& found, const std::vector<Generation>& expected, double margin) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    REQUIRE(found[i].ids == expected[i].ids);
    for (size_t t = 0; t < found[i].ids.size(); ++t) {
      REQUIRE(found[i].log_probs[t] == Approx(expected[i].log_probs[t]).margin(margin));
      REQUIRE(found[i].processed_log_probs[t] == Approx(expected[i].processed_log_probs[t]).margin(margin));
    }
  }
}

}  // namespace roll::test
