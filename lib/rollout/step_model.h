// What the scheduler needs from a language model: slots whose sequences lie in pages, and steps that draw tokens. All
// state of a token's way from one step to the next is the model's: the scheduler only hears what was drawn.
// Legend: B sequences, V vocabulary.
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

/// How a slot's sequence is drawn.
struct Seat {
  SamplingSettings generating;
  RandomName name;                         // position: of the next token in its response
  std::span<const int64_t> prompt, drawn;  // what penalties count; read during the call
};

/// Tokens that are known, for a slot whose sequence has `begin` tokens.
struct PromptPiece {
  int64_t slot = 0, begin = 0;
  std::vector<int64_t> ids;
  std::vector<int64_t> draws;  // slots that draw their next token behind the piece's last one
};

struct PageCopy {
  int32_t from = 0, to = 0;
};

/// One step: copies first, then all rows.
struct StepPlan {
  std::vector<PageCopy> copies;
  std::vector<PromptPiece> pieces;
  std::vector<int64_t> decoding;  // slots that go on from the token that they drew last

  bool is_empty() const { return pieces.empty() && decoding.empty(); }
};

struct Drawn {
  int64_t slot = 0, token = 0;
  float log_prob = 0, processed_log_prob = 0;  // DrawnToken says which
};

class StepModel {
 public:
  virtual ~StepModel() = default;

  virtual int64_t num_slots() const = 0;
  virtual int64_t num_pages() const = 0;
  virtual int64_t page_size() const = 0;
  /// Tokens of a sequence.
  virtual int64_t max_length() const = 0;
  /// Tokens of a step, of pieces and decoding slots together.
  virtual int64_t max_rows() const = 0;
  virtual int64_t vocab_size() const = 0;

  /// Makes the slot that of a new sequence, without pages.
  virtual void seat(int64_t slot, const Seat& seat) = 0;
  /// The slot's pages from number `first` on.
  virtual void set_pages(int64_t slot, int64_t first, std::span<const int32_t> pages) = 0;

  virtual void launch(const StepPlan& plan) = 0;
  /// What the oldest uncollected launch drew: for each piece its draws, then the decoding slots.
  /// SystemError: the logits are not numbers.
  virtual std::vector<Drawn> collect() = 0;
  /// Launches that should stand behind the one that is collected, so that the device never waits for the host.
  virtual int64_t depth() const { return 0; }
  /// The experts that the first `length` tokens of the slot's sequence went through: [length, choices_per_token()],
  /// mixture after mixture. Empty where they are not recorded.
  virtual std::vector<int16_t> routed_experts(int64_t /*slot*/, int64_t /*length*/) const { return {}; }
};

struct EngineLimits {
  int64_t num_slots = 1;
  int64_t max_length = 0;      // of one sequence
  int64_t max_rows = 8192;     // of one step
  int64_t page_size = 16;      // tokens
  int64_t kv_cache_bytes = 0;  // 0: no limit
  int64_t max_pages = 0;       // likewise
  bool int8_weights = false;   // products read weights of 8 bits
  bool records_experts = false;
};

/// Over a Transformer, with as many pages as its slots can use and the budget holds. UserError when those are too few
/// for one sequence, and where nothing reads weights of 8 bits that were asked for. `model` must outlive the result.
/// Under tensor parallelism all ranks make the same calls, and all take the first one's draws.
std::unique_ptr<StepModel> make_step_model(const Transformer& model, const EngineLimits& limits);

/// Whether tokens are drawn on the host, as constraints (SamplingSettings::constraint) want it.
bool draws_on_host(const Transformer& model);

/// Memory of a GPU that make_step_model takes beside the cache, at most; 0 on the CPU.
int64_t step_model_bytes(const Transformer& model, const EngineLimits& limits);

}  // namespace roll
