// Decoder for GPUs that also draws: a step reads its rows from device memory, where the plan or the previous step left
// them. It takes nine launches per layer (attention and MLP), ten if few rows split their tokens over blocks, and four
// per draw. A step does not allocate, copy or wait, so that it can be a CUDA graph. The fused q/k/v and gate/up weights
// are copies; other weights are the model's own. Used by lib/rollout/device_steps. Legend: S slots, V vocabulary.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "decode/decoder.h"
#include "decode/kernel_launcher.h"

namespace roll {

/// Device memory that a step reads and writes. Byte tensors hold structs.
struct StepMemory {
  at::Tensor plan;             // bytes: RowDraw [S], then StepRow [max_rows]
  at::Tensor slots;            // bytes: SlotState [S]
  at::Tensor tables;           // [S, pages of the longest sequence] int32
  at::Tensor touched;          // bytes: TouchedToken [S, touched_per_slot]; undefined until needed
  at::Tensor original_logits;  // [S, touched_per_slot] float32
  at::Tensor drawn;            // bytes: DrawnToken [S]
  int64_t touched_per_slot = 0;
};

/// Changes of slots, page tables and pages before a step.
struct StepUpdates {
  const SlotSeat* seats = nullptr;
  const TableEntry* entries = nullptr;
  const PageMove* moves = nullptr;
  int64_t num_seats = 0, num_entries = 0, num_moves = 0;
};

class DeviceDecoder {
 public:
  virtual ~DeviceDecoder() = default;
  virtual StepMemory& memory() = 0;
  /// Applies the plan's changes; all pointers are device memory.
  virtual void update(const StepUpdates& updates) = 0;
  /// Runs the first num_rows rows and num_draws draws of memory().plan; its first num_prompt_rows rows are prompt
  /// tokens.
  virtual void run(int64_t num_rows, int64_t num_prompt_rows, int64_t num_draws) = 0;
};

/// Returns true if the kernels support the model's dtype (float32, bf16, fp16), layers, head sizes and sizes per rank;
/// equal on all tensor-parallel ranks.
bool has_device_kernels(const Transformer& model);

/// Returns an upper bound of a device decoder's memory besides the KV cache, in bytes.
int64_t device_decoder_bytes(const Transformer& model, int64_t max_rows, int64_t num_slots, int64_t num_processors);

/// Returns a decoder of a model with has_device_kernels(), on the launcher's device; `model` and `launcher` must
/// outlive it. run() is **Collective** over tp: it sums activations and exchanges logits and drawn tokens. Each rank
/// draws for a share of the rows.
std::unique_ptr<DeviceDecoder> make_device_decoder(const Transformer& model, const DecoderSizes& sizes,
                                                   int64_t num_slots, KernelLauncher& launcher);

}  // namespace roll
