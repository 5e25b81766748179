// The sampler: prompts in, responses out, with continuous batching over the slots of a KV cache.
//
// Goals: a response depends only on its prompt, the parameters and its random-number name (seed, purpose, step,
// sequence_id, position), never on what else runs beside it, on rank count or on order (up to the float rounding of the
// model's logits); n responses of one prompt share its prefill; a freed slot is refilled at once.
// Non-goals: beam search; text is made from tokens for people and rewards, and never turned back into tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/random.h"
#include "rollout/config.h"
#include "rollout/step_model.h"
#include "rollout/stop_strings.h"

namespace roll {

class Tokenizer;
class Transformer;

struct GenerationRequest {
  std::vector<int64_t> prompt_ids;
  uint64_t sequence_id = 0;  // names its random numbers: unique among the requests of one (purpose, step); low 48 bits
};

/// kStop: an end token was drawn (it is the last id). kStopString: the text holds a stop string. kLength: as long as
/// allowed. kAbort: the run was asked to stop.
enum class FinishReason { kStop, kLength, kStopString, kAbort };

/// "stop", "length", "stop_string", "abort".
const char* finish_reason_name(FinishReason reason);

struct Generation {
  std::vector<int64_t> ids;      // of the response, end token included
  std::vector<float> log_probs;  // per id, nats: log_softmax(logits / temperature), before penalties and truncation
  FinishReason finish_reason = FinishReason::kAbort;
  std::string text;
};

struct SamplingParams {
  GeneratingArgs generating;  // max_new_tokens must be set; num_return_sequences is the caller's business
  std::vector<int64_t> eos_ids;
  bool ignore_eos = false;
  uint64_t seed = 0;
  Purpose purpose = Purpose::kSample;
  uint32_t step = 0;
  int64_t max_running_requests = 128;  // sequences decoded together
  int64_t max_length = 0;              // prompt + response, in tokens; 0: the model's own limit
  int64_t kv_cache_bytes = 0;          // most memory of keys and values; 0: no limit
  int64_t max_prefill_tokens = 8192;   // of one prefill call; a longer prompt is prefilled alone
  bool shares_prefill = true;          // among requests of one prompt that stand side by side
};

/// UserError "key = value: rule" when a parameter is out of range: max_new_tokens unset or < 1, temperature < 0, top_p
/// outside (0, 1], top_k < -1, min_p outside [0, 1], repetition_penalty <= 0, presence or frequency penalty not finite,
/// an empty stop string, max_running_requests < 1.
void check_sampling(const SamplingParams& params);

using OnGenerated = std::function<void(int64_t index, const Generation& generation)>;

struct SamplerHooks {
  std::function<bool()> should_stop;                // asked before every step; true: what still runs ends as kAbort
  std::function<void(int64_t num_tokens)> on_step;  // after every step, with the tokens that it drew
};

/// One Generation per request, in the order of the requests. `on_done` is called from this thread as each response
/// ends, also when a wish to stop ends it; a request that had not started by then stays empty, with kAbort.
/// UserError: an empty prompt, an id that the model does not have, a prompt that leaves no room for one token, a
/// KV budget below one sequence. SystemError: the model's logits are not numbers.
std::vector<Generation> generate(const Transformer& model, const Tokenizer& tokenizer,
                                 const std::vector<GenerationRequest>& requests, const SamplingParams& params,
                                 const OnGenerated& on_done = {}, const SamplerHooks& hooks = {});

/// The same over any model that steps; the number of its slots bounds what runs together.
std::vector<Generation> generate(StepModel& model, const DecodeText& decode,
                                 const std::vector<GenerationRequest>& requests, const SamplingParams& params,
                                 const OnGenerated& on_done = {}, const SamplerHooks& hooks = {});

}  // namespace roll
