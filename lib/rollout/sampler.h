// The sampler: prompts in, responses out, with continuous batching over the slots of a KV cache.
//
// Goals: a response depends only on its prompt, the parameters and its random-number name (seed, purpose, step,
// sequence_id, position), never on what else runs beside it, on rank count or on order (up to the float rounding of the
// model's logits); n responses of one prompt share its prefill; a freed slot is refilled at once.
// Non-goals: beam search; text is made from tokens for people and rewards, and never turned back into tokens.
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

/// kStop: an end token was drawn (it is the last id). kStopString: the text holds a stop string. kLength: as long as
/// allowed. kAbort: the run was asked to stop.
enum class FinishReason { kStop, kLength, kStopString, kAbort };

constexpr auto names_of(FinishReason) {
  return std::to_array<Named<FinishReason>>({{FinishReason::kStop, "stop"},
                                             {FinishReason::kLength, "length"},
                                             {FinishReason::kStopString, "stop_string"},
                                             {FinishReason::kAbort, "abort"}});
}

struct Generation {
  std::vector<int64_t> ids;      // of the response, end token included
  std::vector<float> log_probs;  // per id, nats: log_softmax(logits / temperature), before penalties and truncation
  std::vector<float> processed_log_probs;  // per id, of the distribution that it was drawn from; greedy: 0
  FinishReason finish_reason = FinishReason::kAbort;
  std::string text;
  /// [tokens of prompt and response but the last, choices_per_token()]: the experts that they went through, set at the
  /// end. Empty where they are not recorded.
  std::vector<int16_t> routed_experts{};
};

struct GenerationRequest {
  std::vector<int64_t> prompt_ids;
  uint64_t sequence_id = 0;  // names its random numbers: unique among the requests of one (purpose, step) that have no
                             // seed of their own; low 48 bits
  std::optional<SamplingSettings> generating{};  // its own, instead of all requests'
  std::optional<uint64_t> seed{};                // its own; the same request with the same one gets the same response
  Generation begun{};          // by a sampler that was paused, or in earlier turns: it goes on behind these tokens
  int64_t num_given = 0;       // of those, the tokens of earlier turns: text and stop strings begin behind them
  int64_t first_position = 0;  // of the response, in the names of its random numbers: others of its name may be before
};

struct SamplingParams {
  SamplingSettings generating{};
  std::vector<int64_t> eos_ids;
  bool ignore_eos = false;
  uint64_t seed = 0;
  Purpose purpose = Purpose::kSample;
  uint32_t step = 0;
  int64_t max_running_requests = 128;  // sequences decoded together
  int64_t max_length = 0;              // prompt + response, in tokens; 0: the model's own limit
  bool shares_prefill = true;          // what prompts begin with alike is computed once
  bool continues_responses = false;    // prompts to come may begin with this one and its response
  bool shares_steps = false;           // a prompt that takes several steps leaves part of each to prompts behind it
};

/// UserError: max_running_requests < 1.
void check_sampling(const SamplingParams& params);

using OnGenerated = std::function<void(int64_t index, const Generation& generation)>;

/// What a sampler did.
struct SamplerCounts {
  int64_t prompt_tokens = 0;  // computed, evicted responses included
  int64_t shared_tokens = 0;  // of prompts that others had computed
  int64_t decoded = 0;        // rows of responses, over all steps
  int64_t drawn = 0;          // tokens of responses
  int64_t evictions = 0;
  int64_t slot_steps = 0;  // slots, over all steps
  int64_t most_pages = 0;  // held at once
  int64_t num_pages = 0, num_slots = 0;
};

struct SamplerHooks {
  std::function<bool()> should_stop;                // asked before every step; true: what still runs ends as kAbort
  std::function<void(int64_t num_tokens)> on_step;  // after every step, with the tokens that it drew
  SamplerCounts* counts = nullptr;                  // set at the end
  OnGenerated on_token{};                           // after every token, with the response so far, without its text
};

/// Requests that come, and are taken back, while others run.
class RequestSource {
 public:
  /// What the sampler has when it asks.
  struct Queue {
    const std::deque<int64_t>& waiting;  // requests; the next one first
    int64_t num_running = 0, num_free_slots = 0;
    bool is_idle() const { return waiting.empty() && num_running == 0; }
  };
  struct Change {
    std::vector<int64_t> cancelled{};  // they give all back at once and are not heard of again; ended ones stay ended
    std::vector<GenerationRequest> requests{};  // numbered in the order in which they ever came
    bool is_last = false;                       // the source is not asked again
    bool pauses = false;  // nothing more is computed: what waits or runs stays as it is, to be begun again elsewhere
  };
  virtual ~RequestSource() = default;
  /// Asked before every step, and where the sampler is idle, again and again: it may wait then.
  virtual Change next(const Queue& queue) = 0;
};

/// See Engine::generate (engine.h), over any model that steps; the number of its slots bounds what runs together.
/// `pages` are the model's, and know what earlier calls computed.
std::vector<Generation> generate(StepModel& model, PagePool& pages, const DecodeText& decode,
                                 const std::vector<GenerationRequest>& requests, const SamplingParams& params,
                                 const OnGenerated& on_done = {}, const SamplerHooks& hooks = {});
/// See Engine::serve.
std::vector<Generation> serve(StepModel& model, PagePool& pages, const DecodeText& decode, RequestSource& source,
                              const SamplingParams& params, const OnGenerated& on_done, const SamplerHooks& hooks = {});

}  // namespace roll
