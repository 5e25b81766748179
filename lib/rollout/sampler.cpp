#include "rollout/sampler.h"

#include <algorithm>

#include "base/error.h"
#include "rollout/scheduler.h"

namespace roll {

const char* finish_reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kStopString:
      return "stop_string";
    case FinishReason::kAbort:
      return "abort";
  }
  ROLL_CHECK(false, "every finish reason has a name");
}

void check_sampling(const SamplingParams& params) {
  if (params.max_running_requests < 1)
    throw user_error("max_running_requests = {}: must be 1 or more", params.max_running_requests);
}

namespace {

SamplingParams checked(SamplingParams params, const StepModel& model) {
  check_sampling(params);
  params.max_length = params.max_length > 0 ? std::min(params.max_length, model.max_length()) : model.max_length();
  return params;
}

}  // namespace

std::vector<Generation> generate(StepModel& model, PagePool& pages, const DecodeText& decode,
                                 const std::vector<GenerationRequest>& requests, const SamplingParams& params,
                                 const OnGenerated& on_done, const SamplerHooks& hooks) {
  const SamplingParams bounded = checked(params, model);
  Scheduler scheduler(model, pages, decode, bounded, on_done, hooks);
  scheduler.add(requests);
  std::vector<Generation> generations = scheduler.run();
  if (hooks.counts) *hooks.counts = scheduler.counts();
  return generations;
}

std::vector<Generation> serve(StepModel& model, PagePool& pages, const DecodeText& decode, RequestSource& source,
                              const SamplingParams& params, const OnGenerated& on_done, const SamplerHooks& hooks) {
  const SamplingParams bounded = checked(params, model);
  Scheduler scheduler(model, pages, decode, bounded, on_done, hooks);
  std::vector<Generation> generations = scheduler.run(&source);
  if (hooks.counts) *hooks.counts = scheduler.counts();
  return generations;
}

}  // namespace roll
