#include "rollout/sampler.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "base/error.h"
#include "rollout/scheduler.h"

namespace roll {

namespace {

void require(bool holds, const char* key, double value, const char* rule) {
  if (!holds) throw user_error("{} = {}: {}", key, value, rule);
}

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

void check_sampling(const SamplingParams& params) {
  const GeneratingArgs& args = params.generating;
  if (!args.max_new_tokens) throw UserError("max_new_tokens: is not set; give the longest response in tokens");
  require(*args.max_new_tokens >= 1, "max_new_tokens", static_cast<double>(*args.max_new_tokens), "must be at least 1");
  require(args.temperature == 0 || (args.temperature >= 1e-3 && args.temperature <= 1e3), "temperature",
          args.temperature, "must be 0 (greedy) or within 0.001 .. 1000");
  require(args.top_p > 0 && args.top_p <= 1, "top_p", args.top_p, "must be above 0 and at most 1 (1 is off)");
  require(args.top_k >= -1, "top_k", static_cast<double>(args.top_k), "must be at least 1, or 0 or -1 for off");
  require(args.min_p >= 0 && args.min_p <= 1, "min_p", args.min_p, "must be within 0 (off) .. 1");
  require(args.repetition_penalty > 0 && std::isfinite(args.repetition_penalty), "repetition_penalty",
          args.repetition_penalty, "must be above 0 (1 is off)");
  require(std::isfinite(args.presence_penalty), "presence_penalty", args.presence_penalty, "must be a finite number");
  require(std::isfinite(args.frequency_penalty), "frequency_penalty", args.frequency_penalty,
          "must be a finite number");
  require(args.num_beams == 1, "num_beams", static_cast<double>(args.num_beams),
          "must be 1: beam search does not sample from a policy");
  require(params.max_running_requests >= 1, "max_running_requests", static_cast<double>(params.max_running_requests),
          "must be at least 1");
  if (std::ranges::find(args.stop_strings, "") != args.stop_strings.end())
    throw UserError("stop_strings: holds an empty string, which would end every response at once; remove it");
}

std::vector<Generation> generate(StepModel& model, const DecodeText& decode,
                                 const std::vector<GenerationRequest>& requests, const SamplingParams& params,
                                 const OnGenerated& on_done, const SamplerHooks& hooks) {
  check_sampling(params);
  SamplingParams bounded = params;
  bounded.max_length = params.max_length > 0 ? std::min(params.max_length, model.max_length()) : model.max_length();
  check_requests(requests, model.vocab_size(), bounded.max_length);
  return Scheduler(model, decode, requests, bounded, on_done, hooks).run();
}

}  // namespace roll
