// Interface through which the scheduler (scheduler.h) runs a language model with a paged KV cache. A slot is the place
// of one running sequence; its page table lists the pages with its keys and values. A step computes chunks of prompts
// and of each decoding slot the last token, perhaps with guesses of the next ones, and draws the next tokens. The model
// keeps all sampling state between steps; the scheduler only receives the drawn tokens. A row is one token that a step
// computes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/random.h"
#include "decode/decoder.h"
#include "rollout/settings.h"

namespace roll {

class Transformer;

/// Sampling settings and tokens of a sequence that gets a slot. The spans must be valid during StepModel::seat() only.
struct Seat {
  SamplingSettings generating;
  RandomName name;                  // RNG key of the next draw; each draw then increases name.position by 1
  std::span<const int64_t> prompt;  // token ids
  std::span<const int64_t> drawn;   // response tokens drawn before, if the sequence was evicted or paused
};

/// A prefill chunk of one sequence: tokens that are known before the step.
struct PromptPiece {
  int64_t slot = 0;
  int64_t begin = 0;           // position of ids[0]; earlier tokens are computed or in shared pages
  std::vector<int64_t> ids;    // tokens to compute
  std::vector<int64_t> draws;  // slots that draw from the logits of the last id: all that share the prompt, if it ends
};

/// A copy of one page's keys and values, in all layers.
struct PageCopy {
  int32_t from = 0, to = 0;  // page numbers
};

/// A slot that computes its last drawn token and draws the next one. While the draws equal the guesses, it draws a
/// further token behind each guess: from 1 to 1 + guesses.size() tokens.
struct DecodingSlot {
  int64_t slot = 0;
  std::vector<int64_t> guesses{};  // empty unless StepModel::takes_guesses()
};

/// Plan of one step. Pages are copied first, then all tokens are computed together.
struct StepPlan {
  std::vector<PageCopy> copies;
  std::vector<PromptPiece> pieces;
  std::vector<DecodingSlot> decoding;

  /// Returns true if the step computes no token.
  bool is_empty() const { return pieces.empty() && decoding.empty(); }
};

/// A token drawn by a slot.
struct Drawn {
  int64_t slot = 0, token = 0;
  float log_prob = 0;            // nats: log_softmax(logits / temperature), before penalties and truncation
  float processed_log_prob = 0;  // nats: after penalties and truncation; 0 if greedy
};

/// With tensor parallelism, all ranks must make the same calls, and launch() and collect() are **Collective**; all
/// ranks get the same draws.
class StepModel {
 public:
  virtual ~StepModel() = default;

  virtual int64_t num_slots() const = 0;
  virtual int64_t num_pages() const = 0;
  /// Tokens per page.
  virtual int64_t page_size() const = 0;
  /// Most tokens of a sequence, prompt and response.
  virtual int64_t max_length() const = 0;
  /// Most tokens (rows) of a step: of prompt pieces and decoding slots, with their guesses.
  virtual int64_t max_rows() const = 0;
  virtual int64_t vocab_size() const = 0;

  /// Assigns the slot to a new sequence, without pages.
  virtual void seat(int64_t slot, const Seat& seat) = 0;
  /// Writes page numbers into the slot's page table from index `first` on. Entry i is for the tokens from position
  /// i * page_size() on; set it before a step computes them.
  virtual void set_pages(int64_t slot, int64_t first, std::span<const int32_t> pages) = 0;

  /// Starts a step of at most max_rows() tokens; may return before it is done. `plan` must not be empty.
  virtual void launch(const StepPlan& plan) = 0;
  /// Returns the draws of the oldest launch that is not collected. Each slot in piece.draws of each prompt piece has
  /// one, then each slot in plan.decoding one or, with guesses, several. Throws SystemError if a logit is NaN or
  /// +infinity, or no logit of a row is finite.
  virtual std::vector<Drawn> collect() = 0;
  /// Returns how many launches should be uncollected when the next one starts, so that the device never waits for the
  /// host. 0: collect each launch at once.
  virtual int64_t depth() const { return 0; }
  /// Returns true if DecodingSlot::guesses may be set. Then depth() is 0, and the draws are the same as without
  /// guesses, bit by bit.
  virtual bool takes_guesses() const { return false; }
  /// Returns how many rows take as long as the part of a decode step that does not depend on its rows; the same on all
  /// ranks. Only with takes_guesses().
  virtual double fixed_rows() const { return 0; }
  /// Returns the experts chosen for the first `length` tokens in these pages: [length, choices_per_token()]
  /// (model/mixture.h), row-major, each row ordered by MoE layer. Waits for the device. Empty unless
  /// EngineLimits::records_experts.
  virtual std::vector<int16_t> routed_experts(std::span<const int32_t> /*pages*/, int64_t /*length*/) const {
    return {};
  }
};

/// Limits of an engine or StepModel on one rank.
struct EngineLimits {
  int64_t num_slots = 1;         // sequences that run together
  int64_t max_length = 0;        // tokens per sequence, prompt and response; must be set
  int64_t max_rows = 8192;       // most tokens per step; a device may use fewer, but never less than num_slots
  int64_t page_size = 16;        // tokens per page; models with recurrent states may raise it
  int64_t kv_cache_bytes = 0;    // 0: no limit
  int64_t max_pages = 0;         // 0: no limit
  int64_t weight_bits = 0;       // 8, 4: linear layers read weights in so many bits (CPU only); 0: in the dtype
  bool records_experts = false;  // keeps the experts chosen for each token
};

/// Creates the StepModel of a Transformer, on the GPU or the CPU. Allocates as many pages as its slots can use and the
/// limits allow. `model` must outlive the result. Throws UserError if the pages are too few for one sequence of
/// max_length, or if weight_bits is set and the device cannot use it. **Collective** over the tensor-parallel ranks.
std::unique_ptr<StepModel> make_step_model(const Transformer& model, const EngineLimits& limits);

/// Returns true if make_step_model(model) draws tokens on the host. Only then may SamplingSettings::constraint be set.
bool draws_on_host(const Transformer& model);

/// Returns an upper bound of the GPU memory, in bytes, that the result of make_step_model() uses besides the KV cache
/// and the model's weights. Returns 0 if tokens are drawn on the host.
int64_t step_model_bytes(const Transformer& model, const EngineLimits& limits);

}  // namespace roll
