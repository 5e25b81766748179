// The sampler over a Transformer: sizes the KV cache for the requests.
#include <algorithm>

#include "model/transformer.h"
#include "rollout/sampler.h"
#include "text/tokenizer.h"

namespace roll {

namespace {

/// Room for the longest response that any request may give.
int64_t longest_sequence(const std::vector<GenerationRequest>& requests, const SamplingParams& params) {
  int64_t longest = 0;
  for (const auto& request : requests) longest = std::max(longest, std::ssize(request.prompt_ids));
  return std::min(params.max_length, longest + *params.generating.max_new_tokens);
}

}  // namespace

std::vector<Generation> generate(const Transformer& model, const Tokenizer& tokenizer,
                                 const std::vector<GenerationRequest>& requests, const SamplingParams& params,
                                 const OnGenerated& on_done, const SamplerHooks& hooks) {
  check_sampling(params);
  if (requests.empty()) return {};
  SamplingParams bounded = params;
  const int64_t own_limit = model.spec().max_positions;
  bounded.max_length = params.max_length > 0 ? std::min(params.max_length, own_limit) : own_limit;
  bounded.max_length = longest_sequence(requests, bounded);
  const auto step_model =
      make_step_model(model, {.num_slots = std::min(params.max_running_requests, std::ssize(requests)),
                              .max_length = bounded.max_length,
                              .kv_cache_bytes = params.kv_cache_bytes});
  const DecodeText decode = [&](std::span<const int64_t> ids, bool skip) { return tokenizer.decode(ids, skip); };
  return generate(*step_model, decode, requests, bounded, on_done, hooks);
}

}  // namespace roll
