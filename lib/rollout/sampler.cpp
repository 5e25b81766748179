#include "rollout/sampler.h"

#include <algorithm>

#include "base/error.h"
#include "rollout/scheduler.h"

namespace roll {

void check_sampling(const SamplingParams& params) {
  if (params.max_running_requests < 1)
    throw user_error("max_running_requests = {}: must be 1 or more", params.max_running_requests);
}

namespace {

std::vector<Generation> sample(StepModel& model, PagePool& pages, const DecodeText& decode,
                               const std::vector<GenerationRequest>& requests, RequestSource* source,
                               SamplingParams params, const OnGenerated& on_done, const SamplerHooks& hooks) {
  check_sampling(params);
  params.max_length = params.max_length > 0 ? std::min(params.max_length, model.max_length()) : model.max_length();
  Scheduler scheduler(model, pages, decode, params, on_done, hooks);
  scheduler.add(requests);
  std::vector<Generation> generations = scheduler.run(source);
  if (hooks.counts) *hooks.counts = scheduler.counts();
  return generations;
}

}  // namespace

std::vector<Generation> generate(StepModel& model, PagePool& pages, const DecodeText& decode,
                                 const std::vector<GenerationRequest>& requests, const SamplingParams& params,
                                 const OnGenerated& on_done, const SamplerHooks& hooks) {
  return sample(model, pages, decode, requests, nullptr, params, on_done, hooks);
}

std::vector<Generation> serve(StepModel& model, PagePool& pages, const DecodeText& decode, RequestSource& source,
                              const SamplingParams& params, const OnGenerated& on_done, const SamplerHooks& hooks) {
  return sample(model, pages, decode, {}, &source, params, on_done, hooks);
}

}  // namespace roll
