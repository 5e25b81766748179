// Inference engine: samples responses from a model. The constructor repacks the weights, and the KV pages of earlier
// prompts are kept (prefix cache), so changed weights need a new Engine. With tensor parallelism, each rank has an
// Engine, and all ranks make the same calls with equal arguments; hooks and sources must act alike on every rank.
#pragma once

#include <memory>
#include <vector>

#include "rollout/page_pool.h"
#include "rollout/sampler.h"
#include "rollout/step_model.h"

namespace roll {

class Communicator;
class Tokenizer;

/// For one thread at a time.
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

/// Returns limits that suffice for these requests: num_slots is at most params.max_running_requests, max_length at most
/// params.max_length (if it is set). Other fields have their defaults.
EngineLimits limits_for(const std::vector<GenerationRequest>& requests, const SamplingParams& params);
/// Returns the size of the KV cache in bytes: `share` (0 to 1) of the GPU memory that `model` and its steps leave free
/// on this rank; 0 (no limit) on the CPU. `limits`: the steps' sizes; the limits of the cache in it are ignored.
int64_t cache_bytes(const EngineLimits& limits, double share, const Transformer& model);
/// Sets page_size and max_pages of `limits` from `cache`, and kv_cache_bytes to the smallest cache_bytes() of the
/// ranks. `tp`: the model's tensor-parallel ranks. **Collective** over `tp`.
void limit_cache(EngineLimits& limits, const CacheSettings& cache, const Transformer& model, Communicator& tp);

}  // namespace roll
