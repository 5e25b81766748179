// Interface of the scheduler to a language model: slots with paged KV cache, and steps that draw tokens. The model
// keeps all sampling state between steps; the scheduler only receives the drawn tokens. Legend: B sequences, V
// vocabulary.
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

/// Sampling settings and state of a new sequence in a slot.
struct Seat {
  SamplingSettings generating;
  RandomName name;                         // RNG key; position: index of the next response token
  std::span<const int64_t> prompt, drawn;  // tokens so far, for penalties; read only during the call
};

/// A prefill chunk: known tokens for a slot that has computed `begin` tokens.
struct PromptPiece {
  int64_t slot = 0, begin = 0;
  std::vector<int64_t> ids;
  std::vector<int64_t> draws;  // slots that draw from the logits of the last id
};

/// A page to copy, all layers.
struct PageCopy {
  int32_t from = 0, to = 0;
};

/// Plan of one step: page copies first, then all rows.
struct StepPlan {
  std::vector<PageCopy> copies;
  std::vector<PromptPiece> pieces;
  std::vector<int64_t> decoding;  // slots that decode from their last drawn token

  bool is_empty() const { return pieces.empty() && decoding.empty(); }
};

/// A token drawn by a slot.
struct Drawn {
  int64_t slot = 0, token = 0;
  float log_prob = 0, processed_log_prob = 0;  // nats; see DrawnToken (cuda/sampling_math.h)
};

class StepModel {
 public:
  virtual ~StepModel() = default;

  virtual int64_t num_slots() const = 0;
  virtual int64_t num_pages() const = 0;
  virtual int64_t page_size() const = 0;
  /// Most tokens of a sequence.
  virtual int64_t max_length() const = 0;
  /// Most tokens of a step: prompt pieces and decoding slots together.
  virtual int64_t max_rows() const = 0;
  virtual int64_t vocab_size() const = 0;

  /// Assigns the slot to a new sequence, without pages.
  virtual void seat(int64_t slot, const Seat& seat) = 0;
  /// Writes `pages` into the slot's page table from index `first` on.
  virtual void set_pages(int64_t slot, int64_t first, std::span<const int32_t> pages) = 0;

  /// Starts a step.
  virtual void launch(const StepPlan& plan) = 0;
  /// Returns the draws of the oldest uncollected launch: those of each prompt piece, then the decoding slots.
  /// SystemError: a logit is NaN or +infinity, or no logit of a row is finite.
  virtual std::vector<Drawn> collect() = 0;
  /// Number of launches to keep in flight beyond the collected one, so that the device never waits for the host.
  virtual int64_t depth() const { return 0; }
  /// Returns the experts of the first `length` tokens of the slot's sequence: [length, choices_per_token()], ordered by
  /// MoE layer. Empty if not recorded.
  virtual std::vector<int16_t> routed_experts(int64_t /*slot*/, int64_t /*length*/) const { return {}; }
};

struct EngineLimits {
  int64_t num_slots = 1;
  int64_t max_length = 0;      // tokens per sequence
  int64_t max_rows = 8192;     // tokens per step
  int64_t page_size = 16;      // tokens
  int64_t kv_cache_bytes = 0;  // 0: no limit
  int64_t max_pages = 0;       // 0: no limit
  bool int8_weights = false;   // GEMMs read int8 weights (CPU only)
  bool records_experts = false;
};

/// Returns the steps of a Transformer, with as many pages as its slots can use and the limits allow. `model` must
/// outlive the result. UserError: the pages are too few for one sequence, or int8_weights is set and the device has no
/// int8 GEMM. **Collective** over the tensor-parallel ranks, as are the result's calls; all ranks get the same draws.
std::unique_ptr<StepModel> make_step_model(const Transformer& model, const EngineLimits& limits);

/// Returns true if tokens are drawn on the host, which SamplingSettings::constraint requires.
bool draws_on_host(const Transformer& model);

/// Returns an upper bound of the GPU memory, in bytes, that make_step_model uses besides the KV cache; 0 on the CPU.
int64_t step_model_bytes(const Transformer& model, const EngineLimits& limits);

}  // namespace roll
