// Inference engine over fixed weights: repacks them once and keeps a prefix cache. Changed weights need a new Engine.
#pragma once

#include <memory>
#include <vector>

#include "rollout/page_pool.h"
#include "rollout/sampler.h"
#include "rollout/step_model.h"

namespace roll {

class Communicator;
class Tokenizer;

class Engine {
 public:
  /// `model` and `tokenizer` must outlive the engine. UserError: the KV cache is too small for one sequence.
  /// **Collective** over the model's tp.
  Engine(const Transformer& model, const Tokenizer& tokenizer, const EngineLimits& limits);

  /// Returns one Generation per request, in their order. `on_done` is called from this thread as each response ends,
  /// including responses that should_stop() ends; requests that had not started then stay empty, with kAbort.
  /// UserError: a prompt is empty, holds an unknown token id, or leaves no room for one token.
  /// SystemError: a logit is NaN or +infinity, or no logit of a row is finite.
  std::vector<Generation> generate(const std::vector<GenerationRequest>& requests, const SamplingParams& params,
                                   const OnGenerated& on_done = {}, const SamplerHooks& hooks = {});

  /// Like generate(), for requests that arrive while others run. Returns when the source has no more requests or
  /// pauses. After a pause, unfinished responses are returned with kAbort and their tokens so far, without `on_done`.
  std::vector<Generation> serve(RequestSource& source, const SamplingParams& params, const OnGenerated& on_done,
                                const SamplerHooks& hooks = {});

  /// Checksums of the weights of a LoRA model, "base:adapters" in hexadecimal; empty without LoRA. They show that the
  /// base weights never changed and that the adapters were present.
  const std::string& weights_sum() const { return weights_sum_; }

 private:
  std::string weights_sum_;
  DecodeText decode_;
  std::unique_ptr<StepModel> steps_;
  PagePool pages_;
};

/// Returns limits (slots, length) that are large enough for these requests.
EngineLimits limits_for(const std::vector<GenerationRequest>& requests, const SamplingParams& params);
/// Returns the KV cache size in bytes: `share` of the GPU memory that `model` and its steps leave free; CPU: 0 (no
/// limit).
int64_t cache_bytes(const EngineLimits& limits, double share, const Transformer& model);
/// Sets the page size, page limit and byte limit of the KV cache from `cache`; on a GPU the byte limit is its share of
/// the free memory, smallest over the ranks. **Collective** over `tp`.
void limit_cache(EngineLimits& limits, const CacheSettings& cache, const Transformer& model, Communicator& tp);

}  // namespace roll
