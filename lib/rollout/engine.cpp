#include "rollout/engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "dist/communicator.h"
#include "model/device.h"
#include "model/transformer.h"
#include "rollout/cache_size.h"
#include "text/tokenizer.h"

namespace roll {

namespace {

EngineLimits within_model(EngineLimits limits, const ModelSpec& spec) {
  limits.max_length = std::min(limits.max_length, spec.max_positions);
  return limits;
}

std::string weights_checksum(const Transformer& model) {
  if (!model.spec().lora) return "";
  const auto checksum = [&](const NamedTensors& parameters) { return model.parts().checksum(parameters); };
  return fmt::format("{:012x}:{:012x}", checksum(model.without_adapters().parameters()), checksum(model.trained()));
}

}  // namespace

Engine::Engine(const Transformer& model, const Tokenizer& tokenizer, const EngineLimits& limits)
    : weights_sum_(weights_checksum(model)),
      decode_([&](std::span<const int64_t> ids, bool skip) { return tokenizer.decode(ids, skip); }),
      steps_(make_step_model(model, within_model(limits, model.spec()))),
      pages_(steps_->num_pages(), steps_->page_size()) {}

std::vector<Generation> Engine::generate(const std::vector<GenerationRequest>& requests, const SamplingParams& params,
                                         const OnGenerated& on_done, const SamplerHooks& hooks) {
  return roll::generate(*steps_, pages_, decode_, requests, params, on_done, hooks);
}

std::vector<Generation> Engine::serve(RequestSource& source, const SamplingParams& params, const OnGenerated& on_done,
                                      const SamplerHooks& hooks) {
  return roll::serve(*steps_, pages_, decode_, source, params, on_done, hooks);
}

EngineLimits limits_for(const std::vector<GenerationRequest>& requests, const SamplingParams& params) {
  EngineLimits limits{.num_slots = std::clamp<int64_t>(std::ssize(requests), 1, params.max_running_requests),
                      .max_length = 1};
  for (const GenerationRequest& request : requests) {
    const SamplingSettings& generating = request.generating ? *request.generating : params.generating;
    limits.max_length = std::max(limits.max_length, std::ssize(request.prompt_ids) + generating.max_new_tokens);
  }
  if (params.max_length > 0) limits.max_length = std::min(limits.max_length, params.max_length);
  return limits;
}

int64_t cache_bytes(const EngineLimits& limits, double share, const Transformer& model) {
  return cache_bytes(unused_device_bytes(model.device()), step_model_bytes(model, limits), share);
}

void limit_cache(EngineLimits& limits, const CacheSettings& cache, const Transformer& model, Communicator& tp) {
  limits.page_size = cache.page_size;
  limits.max_pages = cache.max_pages;
  limits.kv_cache_bytes = tp.all_reduce_min(cache_bytes(limits, cache.memory_share, model), "KV cache");
}

}  // namespace roll
