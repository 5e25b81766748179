#include "rollout/sampler.h"

#include <algorithm>
#include <unordered_set>

#include "base/error.h"
#include "config/flag.h"
#include "rollout/scheduler.h"

namespace roll {

namespace {

void check_requests(const std::vector<GenerationRequest>& requests, int64_t vocab_size, int64_t max_length) {
  std::unordered_set<uint64_t> sequence_ids;
  for (size_t i = 0; i < requests.size(); ++i) {
    const auto& prompt = requests[i].prompt_ids;
    ROLL_CHECK(sequence_ids.insert(requests[i].sequence_id).second, "two responses would share their random numbers");
    if (prompt.empty()) throw user_error("request {}: its prompt has no token; sampling needs at least one", i);
    if (std::ssize(prompt) >= max_length)
      throw user_error(
          "request {}: its prompt has {} tokens, which leaves no room within {}; shorten it or raise the limit", i,
          prompt.size(), max_length);
    if (requests[i].generating) check_generating(*requests[i].generating);
    const auto unknown = std::ranges::find_if(prompt, [&](int64_t id) { return id < 0 || id >= vocab_size; });
    if (unknown != prompt.end())
      throw user_error("request {}: its prompt holds id {}, the model knows 0..{}; is this the model's own tokenizer?",
                       i, *unknown, vocab_size - 1);
  }
}

}  // namespace

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

void check_generating(const GeneratingArgs& args) {
  if (!args.max_new_tokens) throw UserError("max_new_tokens: is not set; give the longest response in tokens");
  check_ranges(args);
  if (std::ranges::find(args.stop_strings, "") != args.stop_strings.end())
    throw UserError("stop_strings: holds an empty string, which would end every response at once; remove it");
}

void check_sampling(const SamplingParams& params) {
  check_generating(params.generating);
  if (params.max_running_requests < 1)
    throw user_error("max_running_requests = {}: must be 1 or more", params.max_running_requests);
}

std::vector<Generation> generate(StepModel& model, PagePool& pages, const DecodeText& decode,
                                 const std::vector<GenerationRequest>& requests, const SamplingParams& params,
                                 const OnGenerated& on_done, const SamplerHooks& hooks) {
  check_sampling(params);
  SamplingParams bounded = params;
  bounded.max_length = params.max_length > 0 ? std::min(params.max_length, model.max_length()) : model.max_length();
  check_requests(requests, model.vocab_size(), bounded.max_length);
  Scheduler scheduler(model, pages, decode, requests, bounded, on_done, hooks);
  std::vector<Generation> generations = scheduler.run();
  if (hooks.counts) *hooks.counts = scheduler.counts();
  return generations;
}

}  // namespace roll
