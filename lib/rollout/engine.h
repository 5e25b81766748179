// Inference engine: samples responses from a model. It repacks the weights once and keeps the KV pages of earlier
// prompts (prefix cache), so changed weights need a new Engine. With tensor parallelism, each rank has an Engine and
// all make the same calls.
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
  /// `limits`: memory and batch sizes (step_model.h); max_length is lowered to the model's. `model` and `tokenizer`
  /// must outlive the engine. Throws UserError if the KV cache is too small for one sequence. **Collective** over the
  /// model's tensor-parallel ranks.
  Engine(const Transformer& model, const Tokenizer& tokenizer, const EngineLimits& limits);

  /// Returns one Generation per request, in the order of the requests. `on_done` is called from this thread with each
  /// response that ends, also if hooks.should_stop ends it (kAbort); requests that have no token yet are returned
  /// empty, without on_done. Throws UserError if a prompt is empty, holds an unknown token id, or leaves no room for
  /// one token; SystemError if a logit is NaN or +infinity, or no logit of a row is finite. **Collective** over the
  /// tensor-parallel ranks.
  std::vector<Generation> generate(const std::vector<GenerationRequest>& requests, const SamplingParams& params,
                                   const OnGenerated& on_done = {}, const SamplerHooks& hooks = {});

  /// Like generate(), for requests that arrive while others run; results are in the order in which the source gave
  /// them. Returns when all are done and the source has no more, or when the source pauses: then, unfinished responses
  /// are returned with kAbort and their tokens so far, without on_done.
  std::vector<Generation> serve(RequestSource& source, const SamplingParams& params, const OnGenerated& on_done,
                                const SamplerHooks& hooks = {});

  /// Returns checksums of a LoRA model's weights when the engine was created, as "base:adapters" in hexadecimal; empty
  /// without LoRA. They show that the base weights never changed and that the adapters were present.
  const std::string& weights_sum() const { return weights_sum_; }

 private:
  std::string weights_sum_;
  DecodeText decode_;
  std::unique_ptr<StepModel> steps_;
  PagePool pages_;
};

/// Returns limits whose num_slots and max_length suffice for these requests, within `params`; other fields have their
/// defaults.
EngineLimits limits_for(const std::vector<GenerationRequest>& requests, const SamplingParams& params);
/// Returns the size of the KV cache in bytes: `share` of the GPU memory that `model` and its steps leave free on this
/// rank; 0 (no limit) on the CPU.
int64_t cache_bytes(const EngineLimits& limits, double share, const Transformer& model);
/// Sets page_size, max_pages and kv_cache_bytes of `limits` from `cache`. kv_cache_bytes becomes the smallest
/// cache_bytes() of the ranks. `tp`: the model's tensor-parallel ranks. **Collective** over `tp`.
void limit_cache(EngineLimits& limits, const CacheSettings& cache, const Transformer& model, Communicator& tp);

}  // namespace roll
