// What the scheduler needs from a language model: slots that hold sequences, and the logits of the next token.
// Legend: B sequences, V vocabulary.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace roll {

class Communicator;
class Transformer;

class StepModel {
 public:
  virtual ~StepModel() = default;

  virtual int64_t num_slots() const = 0;
  /// Tokens that one slot can hold.
  virtual int64_t max_length() const = 0;
  virtual int64_t vocab_size() const = 0;

  /// Fills the empty slot slots[b] with prompts[b]. [B, V] float32, contiguous, on the CPU: logits of the next tokens.
  virtual at::Tensor prefill(const std::vector<std::vector<int64_t>>& prompts, std::span<const int64_t> slots) = 0;

  /// The empty slots `to` hold the first `length` tokens of slot `from`, which may have grown further since.
  virtual void copy_prefix(int64_t from, int64_t length, std::span<const int64_t> to) = 0;

  /// Appends ids[b] to slots[b]. [B, V] as prefill.
  virtual at::Tensor decode(std::span<const int64_t> ids, std::span<const int64_t> slots) = 0;

  virtual void release(int64_t slot) = 0;

  /// The ranks that hold the model together and step in lock-step; null: this process alone.
  virtual Communicator* ranks() const { return nullptr; }
};

struct StepModelLimits {
  int64_t num_slots = 1;
  int64_t max_length = 0;      // of one sequence
  int64_t kv_cache_bytes = 0;  // 0: no limit
};

/// Over a Transformer and a KV cache in its dtype, with as many of `num_slots` as the budget holds.
/// UserError when that is less than one. `model` must outlive the result.
std::unique_ptr<StepModel> make_step_model(const Transformer& model, const StepModelLimits& limits);

}  // namespace roll
