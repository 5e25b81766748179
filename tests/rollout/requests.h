// Requests of the scheduler's tests, and what each must give.
#pragma once

#include <vector>

#include "rollout/draw_row.h"
#include "rollout/fake_model.h"
#include "rollout/row_sampling.h"

namespace roll {

inline constexpr int64_t kVocab = 20;

inline SamplingParams params_of(int64_t max_new_tokens) {
  SamplingParams params;
  params.generating.temperature = 1;
  params.generating.top_p = 1;
  params.generating.top_k = 0;
  params.generating.skip_special_tokens = false;
  params.generating.max_new_tokens = max_new_tokens;
  params.eos_ids = {0};
  params.seed = 3;
  return params;
}

/// `groups` prompts of different lengths, `n` requests each.
inline std::vector<GenerationRequest> make_requests(int64_t groups, int64_t n) {
  std::vector<GenerationRequest> requests;
  for (int64_t g = 0; g < groups; ++g) {
    std::vector<int64_t> prompt;
    for (int64_t i = 0; i <= g % 7; ++i) prompt.push_back((g * 5 + i) % kVocab);
    prompt.push_back(g % kVocab);
    for (int64_t i = 0; i < n; ++i) requests.push_back({prompt, static_cast<uint64_t>(g * n + i)});
  }
  return requests;
}

/// The definition: each request alone, token by token.
inline Generation alone(const FakeModel& model, const GenerationRequest& request, const SamplingParams& params) {
  Generation generation;
  std::vector<int64_t> ids = request.prompt_ids;
  RowSampler sampler;
  TokenHistory history(params.generating, request.prompt_ids);
  for (int64_t i = 0; i < params.generating.max_new_tokens; ++i) {
    const double uniform = random_uniform({.seed = params.seed,
                                           .purpose = params.purpose,
                                           .step = params.step,
                                           .sequence = request.sequence_id,
                                           .position = static_cast<uint32_t>(i)});
    const DrawnToken draw = draw_by_args(sampler, model.row_after(ids), params.generating, history, uniform);
    history.add(draw.token);
    ids.push_back(draw.token);
    generation.ids.push_back(draw.token);
    generation.log_probs.push_back(draw.log_prob);
    generation.processed_log_probs.push_back(draw.processed_log_prob);
    if (draw.token == 0) break;
  }
  return generation;
}

}  // namespace roll
