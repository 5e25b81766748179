// The transformer and the draws of a step on a device, over rows that the plan or the step before left there: nine
// dispatches a layer of attention and MLP, ten where few rows split their tokens over blocks, and four of the draw. No
// allocation, copy or wait, so that steps of one size can be recorded and replayed. Weights of q/k/v and of gate/up
// stand together for it, as copies; the others are the model's own. Legend: S slots, V vocabulary.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "decode/decoder.h"
#include "decode/kernel_launcher.h"

namespace roll {

/// What a step reads and writes, on the device. Tensors of bytes hold structs.
struct StepMemory {
  at::Tensor plan;       // bytes: RowDraw [S], then StepRow [max_rows]
  at::Tensor slots;      // bytes: SlotState [S]
  at::Tensor tables;     // [S, pages of the longest sequence] int32
  at::Tensor touched;    // bytes: TouchedToken [S, touched_per_slot]; none while no slot needs it
  at::Tensor untouched;  // [S, touched_per_slot] float32
  at::Tensor drawn;      // bytes: DrawnToken [S]
  int64_t touched_per_slot = 0;
};

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
  /// What the plan changed; all pointers are the device's.
  virtual void update(const StepUpdates& updates) = 0;
  /// The first rows and draws of the plan; the first rows are prompts'.
  virtual void run(int64_t num_rows, int64_t num_prompt_rows, int64_t num_draws) = 0;
};

/// float32, bfloat16 or float16, with heads and parts of ranks that the kernels take; the same on all tensor ranks.
bool has_device_kernels(const Transformer& model);

/// Bytes that a device decoder takes beside the cache, at most.
int64_t device_decoder_bytes(const Transformer& model, int64_t max_rows, int64_t num_slots, int64_t num_processors);

/// A decoder of a model with has_device_kernels(), on any device that `launcher` serves; both must outlive the result.
/// Under tensor parallelism its run() is **Collective** over tp: sums of activations, logits and drawn tokens, in
/// the order of the step's kernels. Each rank draws from a part of the rows, for all.
std::unique_ptr<DeviceDecoder> make_device_decoder(const Transformer& model, const DecoderSizes& sizes,
                                                   int64_t num_slots, KernelLauncher& launcher);

}  // namespace roll
