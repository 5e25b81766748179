// The sampler: generates responses to prompts with continuous batching over the slots of a paged KV cache.
//
// Goals: a response depends only on its prompt, the parameters and its RNG key (seed, purpose, step, sequence_id,
// position), never on other requests, rank count or order (up to float rounding of the logits); n responses of one
// prompt share its prefill; a freed slot is refilled at once.
// Non-goals: beam search; re-encoding text (tokens are decoded for people and rewards only).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/names.h"
#include "base/random.h"
#include "rollout/page_pool.h"
#include "rollout/settings.h"
#include "rollout/step_model.h"
#include "rollout/stop_strings.h"

namespace roll {

/// kStop: an EOS token was drawn (it is the last id). kStopString: the text holds a stop string. kLength: the token
/// limit was reached. kAbort: the run was stopped.
enum class FinishReason { kStop, kLength, kStopString, kAbort };

constexpr auto enum_names(FinishReason) {
  return std::to_array<Named<FinishReason>>({{FinishReason::kStop, "stop"},
                                             {FinishReason::kLength, "length"},
                                             {FinishReason::kStopString, "stop_string"},
                                             {FinishReason::kAbort, "abort"}});
}

struct Generation {
  std::vector<int64_t> ids;      // response, EOS token included
  std::vector<float> log_probs;  // per id, nats: log_softmax(logits / temperature), before penalties and truncation
  std::vector<float> processed_log_probs;  // per id, nats: after penalties and truncation; greedy: 0
  FinishReason finish_reason = FinishReason::kAbort;
  std::string text;
  /// Experts per token, [prompt + response tokens - 1, choices_per_token()], set at the response's end; or empty.
  std::vector<int16_t> routed_experts{};
};

struct GenerationRequest {
  std::vector<int64_t> prompt_ids;
  uint64_t sequence_id = 0;  // RNG key, low 48 bits; unique among the requests of one (purpose, step) without a seed
  std::optional<SamplingSettings> generating{};  // replaces SamplingParams::generating
  std::optional<uint64_t> seed{};  // replaces SamplingParams::seed; equal request and seed: equal response
  Generation begun{};              // tokens from earlier turns or a paused sampler; sampling continues after them
  int64_t num_earlier_tokens = 0;  // tokens of `begun` from earlier turns, not part of text and stop strings
  int64_t first_position = 0;      // RNG position of the first response token, if earlier draws used this key
};

struct SamplingParams {
  SamplingSettings generating{};
  std::vector<int64_t> eos_ids;
  bool ignore_eos = false;
  uint64_t seed = 0;
  Purpose purpose = Purpose::kSample;
  uint32_t step = 0;
  int64_t max_running_requests = 128;  // sequences decoded together
  int64_t max_length = 0;              // prompt + response, in tokens; 0: the model's limit
  bool shares_prefill = true;          // prefix sharing: common prefixes are computed once
  bool continues_responses = false;    // keeps responses in the prefix cache, for multi-turn prompts
  bool shares_steps = false;           // a prompt that needs several steps leaves a quarter of each to later prompts
};

/// Checks the parameters. UserError: max_running_requests < 1.
void check_sampling(const SamplingParams& params);

using OnGenerated = std::function<void(int64_t index, const Generation& generation)>;

/// Statistics of a sampler run.
struct SamplerCounts {
  int64_t prompt_tokens = 0;  // computed in prefill, evicted responses included
  int64_t shared_tokens = 0;  // prompt tokens taken from the prefix cache
  int64_t decoded = 0;        // decode rows, over all steps
  int64_t drawn = 0;          // response tokens
  int64_t evictions = 0;
  int64_t slot_steps = 0;  // number of slots, summed over all steps
  int64_t most_pages = 0;  // peak number of held pages
  int64_t num_pages = 0, num_slots = 0;
};

struct SamplerHooks {
  std::function<bool()> should_stop;                // called before every step; true: running requests end with kAbort
  std::function<void(int64_t num_tokens)> on_step;  // called after every step, with its number of drawn tokens
  SamplerCounts* counts = nullptr;                  // set at the end
  OnGenerated on_token{};                           // called after every token; the Generation has no text yet
};

/// Source of requests that arrive, or are cancelled, while others run.
class RequestSource {
 public:
  /// State of the sampler at the call of next().
  struct Queue {
    const std::deque<int64_t>& waiting;  // request indices, next one first
    int64_t num_running = 0, num_free_slots = 0;
    bool is_idle() const { return waiting.empty() && num_running == 0; }
  };
  struct Change {
    std::vector<int64_t> cancelled{};           // request indices, dropped without on_done; ended ones: no effect
    std::vector<GenerationRequest> requests{};  // new; their index counts all requests so far
    bool is_last = false;                       // next() is not called again
    bool pauses = false;  // stops computing; unfinished responses are returned, to be continued elsewhere
  };
  virtual ~RequestSource() = default;
  /// Returns the changes. Called before every step, and in a loop while the sampler is idle; it may block then.
  virtual Change next(const Queue& queue) = 0;
};

/// Runs Engine::generate (engine.h) over any StepModel, with at most its number of slots at once. `pages`: allocator of
/// the model's pages, which keeps the prefix cache of earlier calls.
std::vector<Generation> generate(StepModel& model, PagePool& pages, const DecodeText& decode,
                                 const std::vector<GenerationRequest>& requests, const SamplingParams& params,
                                 const OnGenerated& on_done = {}, const SamplerHooks& hooks = {});
/// Runs Engine::serve over any StepModel.
std::vector<Generation> serve(StepModel& model, PagePool& pages, const DecodeText& decode, RequestSource& source,
                              const SamplingParams& params, const OnGenerated& on_done, const SamplerHooks& hooks = {});

}  // namespace roll
