// Decoder for GPUs that also draws tokens; used by rollout/device_steps.h. A step is one update(), if anything changed,
// and one run(). It computes rows (tokens) and draws the next tokens from some rows. It reads the rows from device
// memory: tokens that the caller wrote to StepMemory::plan, or tokens that the previous step drew. A slot is the place
// of one running sequence. A step takes nine launches per layer (attention and MLP), ten if few rows split their tokens
// over blocks, and four to draw; a mixture of experts takes six in place of the MLP's three, and three for a shared
// one. It does not allocate, copy or wait, so that it can be a CUDA graph. The decoder copies the fused q/k/v and
// gate/up weights, and merges LoRA and quantised ones, so make another one after an update. Other weights are the
// model's own. Legend: S slots. Structs in the memory: cuda/decode_kernels.h, cuda/sample_rows.h.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "decode/decoder.h"
#include "decode/kernel_launcher.h"

namespace roll {

/// Device memory that a step reads and writes, shared with the caller. Byte tensors hold arrays of structs.
struct StepMemory {
  at::Tensor plan;    // bytes: RowDraw [S], then StepRow [max_rows]; the caller writes it before run()
  at::Tensor slots;   // bytes: SlotState [S]; changed by update() and run()
  at::Tensor tables;  // [S, pages of the longest sequence] int32: page tables, changed by update()
  /// Bytes: TouchedToken [S, touched_per_slot], tokens whose logits biases or penalties change. The caller allocates
  /// and writes it, with original_logits, when a sequence first needs it; until then both are undefined.
  at::Tensor touched;
  at::Tensor original_logits;  // [S, touched_per_slot] float32: scratch of the draw
  at::Tensor drawn;  // bytes: DrawnToken per draw of the last run(), in the order of the plan; equal on all ranks
  /// Experts of cached tokens, [pages, page size, choices of a token] int16; undefined if they are not recorded.
  at::Tensor experts;
  int64_t touched_per_slot = 0;  // most touched tokens of a slot
};

/// Changes before a step. All pointers are device memory; a pointer may be null if its number is 0.
struct StepUpdates {
  const SlotSeat* seats = nullptr;      // slots that get new sequences
  const TableEntry* entries = nullptr;  // changed entries of page tables
  const PageMove* moves = nullptr;      // pages to copy
  int64_t num_seats = 0, num_entries = 0, num_moves = 0;
};

/// Not thread-safe.
class DeviceDecoder {
 public:
  virtual ~DeviceDecoder() = default;
  virtual StepMemory& memory() = 0;
  /// Applies the changes to memory() and the cache. Launches only, on the launcher's stream; does not wait.
  virtual void update(const StepUpdates& updates) = 0;
  /// Computes the first num_rows StepRow of memory().plan. Then draws a token for each of its first num_draws RowDraw,
  /// and updates their slots. The first num_prompt_rows rows are prompt tokens, those of a slot in order; each other
  /// row is the only one of its slot. Launches only; does not wait.
  virtual void run(int64_t num_rows, int64_t num_prompt_rows, int64_t num_draws) = 0;
};

/// Returns true if the kernels support the model's dtype (float32, bfloat16, float16), layers, head sizes and sizes per
/// rank, and no ranks share its experts. Does not check the device. The result is equal on all tensor-parallel ranks.
bool has_device_kernels(const Transformer& model);

/// Returns an upper bound of the memory that a device decoder allocates on this rank besides the KV cache, in bytes.
/// max_rows, num_slots: as for make_device_decoder(). num_processors: multiprocessors of the GPU.
int64_t device_decoder_bytes(const Transformer& model, int64_t max_rows, int64_t num_slots, int64_t num_processors);

/// Returns a decoder of a model for which has_device_kernels() is true, on the model's device, with num_slots slots
/// (S). `model` and `launcher` must outlive it. run() is **Collective** over the tensor-parallel ranks, with equal
/// plans: it sums activations and exchanges logits and drawn tokens. Each rank draws for a share of the draws.
std::unique_ptr<DeviceDecoder> make_device_decoder(const Transformer& model, const DecoderSizes& sizes,
                                                   int64_t num_slots, KernelLauncher& launcher);

}  // namespace roll
