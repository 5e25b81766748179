// The sampler of a model's weights as they are: repacked for it once, with a cache whose beginnings of prompts stay
// known from one call to the next. Weights that change need a new engine.
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
  /// Both must outlive it. UserError: a KV budget below one sequence. **Collective** over the model's tp.
  Engine(const Transformer& model, const Tokenizer& tokenizer, const EngineLimits& limits);

  /// One Generation per request, in the order of the requests. `on_done` is called from this thread as each response
  /// ends, also when a wish to stop ends it; a request that had not started by then stays empty, with kAbort.
  /// UserError: an empty prompt, an id that the model does not have, a prompt that leaves no room for one token.
  /// SystemError: the model's logits are not numbers.
  std::vector<Generation> generate(const std::vector<GenerationRequest>& requests, const SamplingParams& params,
                                   const OnGenerated& on_done = {}, const SamplerHooks& hooks = {});

  /// generate() of requests that come while others run, until the source has no more, or pauses: those that had not
  /// ended by then are given back with kAbort and what they have, and `on_done` is not called for them.
  std::vector<Generation> serve(RequestSource& source, const SamplingParams& params, const OnGenerated& on_done,
                                const SamplerHooks& hooks = {});

  /// Of a model with adapters, "base:adapters": sums of the bits of the weights that it was made over, in hexadecimal,
  /// by which anybody sees that the base never changed and that the adapters were there. Else empty.
  const std::string& weights_sum() const { return weights_sum_; }

 private:
  std::string weights_sum_;
  DecodeText decode_;
  std::unique_ptr<StepModel> steps_;
  PagePool pages_;
};

/// What these requests need at most.
EngineLimits limits_for(const std::vector<GenerationRequest>& requests, const SamplingParams& params);
/// Bytes of the cache that take `share` of what `model` and its steps leave free on its GPU; 0, which is no limit, on
/// the CPU.
int64_t cache_bytes(const EngineLimits& limits, double share, const Transformer& model);
/// The pages of the cache: their size and number as `cache` has them, and on a GPU its share of what `model` and its
/// steps leave free there. **Collective** over `tp`.
void limit_cache(EngineLimits& limits, const CacheSettings& cache, const Transformer& model, Communicator& tp);

}  // namespace roll
