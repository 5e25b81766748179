// Samples responses to prompts, with continuous batching over a paged KV cache: the types of requests and responses,
// and the entry functions. Most callers use Engine (engine.h). A slot is the place of one running response.
//
// Goals: a response depends only on its prompt, the parameters and its RNG key (seed, purpose, step, sequence_id,
// position), never on other requests, rank count or order (up to float rounding of the logits); the responses to one
// prompt share its prefill; a freed slot is refilled at once.
// Non-goals: beam search; re-encoding text (tokens are decoded for people and rewards only).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/names.h"
#include "base/random.h"
#include "rollout/page_pool.h"
#include "rollout/settings.h"
#include "rollout/step_model.h"
#include "rollout/stop_strings.h"
#include "rollout/token_guesser.h"

namespace roll {

/// Why a response ended.
enum class FinishReason {
  kStop,        // an EOS token was drawn, which is the last id
  kLength,      // the token limit was reached
  kStopString,  // the text holds a stop string
  kAbort,       // it is unfinished: sampling was stopped or paused, or an environment failed
};

constexpr auto enum_names(FinishReason) {
  return std::to_array<Named<FinishReason>>({{FinishReason::kStop, "stop"},
                                             {FinishReason::kLength, "length"},
                                             {FinishReason::kStopString, "stop_string"},
                                             {FinishReason::kAbort, "abort"}});
}

/// A response, finished or so far.
struct Generation {
  std::vector<int64_t> ids;      // response tokens, EOS token included
  std::vector<float> log_probs;  // per id, nats: log_softmax(logits / temperature), before penalties and truncation
  std::vector<float> processed_log_probs;  // per id, nats: after penalties and truncation; 0 if greedy
  FinishReason finish_reason = FinishReason::kAbort;
  /// Text of the response after GenerationRequest::num_earlier_tokens, cut at a stop string; set when the response
  /// ends.
  std::string text;
  /// Experts that the MoE layers chose for each token but the last: [prompt + response tokens - 1, choices_per_token()]
  /// (model/mixture.h), row-major. Set at the response's end if EngineLimits::records_experts, else empty.
  std::vector<int16_t> routed_experts{};
};

/// A prompt to which one response is sampled.
struct GenerationRequest {
  std::vector<int64_t> prompt_ids;  // tokens; not empty
  /// RNG key, low 48 bits. Requests without a `seed` must differ in it within a call, and should differ in it within
  /// all calls with the same SamplingParams::seed, purpose and step.
  uint64_t sequence_id = 0;
  std::optional<SamplingSettings> generating{};  // if set, replaces SamplingParams::generating
  std::optional<uint64_t> seed{};  // if set, replaces SamplingParams::seed; such requests may share a sequence_id
  Generation begun{};  // response tokens from earlier turns or before a pause; sampling continues after them
  int64_t num_earlier_tokens = 0;  // tokens of `begun` from earlier turns; text and stop strings leave them out
  int64_t first_position = 0;      // RNG position of the first response token; above 0 if earlier draws used this key
};

/// Parameters of all requests of a call.
struct SamplingParams {
  SamplingSettings generating{};       // for requests without their own
  std::vector<int64_t> eos_ids;        // tokens that end a response
  bool ignore_eos = false;             // responses then end only by length or stop string
  uint64_t seed = 0;                   // RNG key
  Purpose purpose = Purpose::kSample;  // RNG key
  uint32_t step = 0;                   // RNG key: training step
  int64_t max_running_requests = 128;  // sequences decoded together, at most the engine's number of slots
  int64_t max_length = 0;              // prompt + response, in tokens; 0: the engine's limit
  bool shares_prefill = true;          // computes common prefixes of prompts once
  bool continues_responses = false;    // keeps responses in the prefix cache, for multi-turn prompts
  /// Guesses tokens, which are computed together with the one before them. The responses stay the same, bit by bit.
  /// Null, or a model that does not take guesses: no guesses. It may serve several calls, one after another.
  std::shared_ptr<TokenGuesser> guesser{};
  bool shares_steps = false;  // a prompt that needs several steps leaves a quarter of each to later prompts
};

/// Throws UserError if max_running_requests < 1.
void check_sampling(const SamplingParams& params);

/// Receives a response or its tokens so far. `index`: number of the request, counted from 0 within the call of
/// generate() or serve().
using OnGenerated = std::function<void(int64_t index, const Generation& generation)>;

/// Statistics of a call.
struct SamplerCounts {
  int64_t prompt_tokens = 0;  // tokens computed in prefill, including responses computed again after an eviction
  int64_t shared_tokens = 0;  // prompt tokens taken from the prefix cache or from a request with the same prompt
  int64_t decoded = 0;        // slots that decode, summed over all steps
  int64_t drawn = 0;          // response tokens
  int64_t guessed = 0;        // guessed tokens that were computed
  int64_t guessed_right = 0;  // guessed tokens that were drawn
  int64_t evictions = 0;      // how often a running sequence lost its pages to others
  int64_t slot_steps = 0;     // num_slots, summed over all steps
  int64_t most_pages = 0;     // peak number of held pages
  int64_t num_pages = 0;      // pages of the KV cache
  int64_t num_slots = 0;      // sequences that can run together
};

/// Optional callbacks of a call, which run on the calling thread. With tensor parallelism, should_stop must return the
/// same on all ranks.
struct SamplerHooks {
  std::function<bool()> should_stop;                // called before every step; true: all requests end with kAbort
  std::function<void(int64_t num_tokens)> on_step;  // called after every step, with the number of tokens drawn in it
  SamplerCounts* counts = nullptr;                  // if not null, is overwritten at the end of the call
  OnGenerated on_token{};                           // called after every token; the Generation has no text yet
};

/// Source of requests that arrive, or are cancelled, while others run. Requests are numbered from 0, in the order in
/// which next() returns them.
class RequestSource {
 public:
  /// State of the sampler when it calls next().
  struct Queue {
    const std::deque<int64_t>& waiting;  // numbers of requests without a slot, the next to start first
    int64_t num_running = 0, num_free_slots = 0;
    bool is_idle() const { return waiting.empty() && num_running == 0; }
  };
  struct Change {
    std::vector<int64_t> cancelled{};           // numbers of requests to drop without on_done; ended ones are ignored
    std::vector<GenerationRequest> requests{};  // new ones
    bool is_last = false;                       // no more requests will come; next() is not called again
    bool pauses = false;                        // ends the call now; unfinished responses are returned as they are
  };
  virtual ~RequestSource() = default;
  /// Returns the changes since the last call. Called before every step, and in a loop while the sampler is idle; only
  /// then may it block.
  virtual Change next(const Queue& queue) = 0;
};

/// Does the work of Engine::generate() (engine.h), over any StepModel, with the same errors. `pages`: allocator of the
/// model's pages; it keeps the prefix cache between calls. `decode`: decodes response text.
std::vector<Generation> generate(StepModel& model, PagePool& pages, const DecodeText& decode,
                                 const std::vector<GenerationRequest>& requests, const SamplingParams& params,
                                 const OnGenerated& on_done = {}, const SamplerHooks& hooks = {});
/// Does the work of Engine::serve(), over any StepModel.
std::vector<Generation> serve(StepModel& model, PagePool& pages, const DecodeText& decode, RequestSource& source,
                              const SamplingParams& params, const OnGenerated& on_done, const SamplerHooks& hooks = {});

}  // namespace roll
