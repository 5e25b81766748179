// The transformer and the draws of a step on a device, over rows that the plan or the step before left there: nine
// dispatches a layer of attention and MLP, ten where few rows split their tokens over blocks. No allocation, copy or
// wait, so that steps of one size can be recorded and replayed. Weights of q/k/v and of gate/up stand together for it,
// as copies; the others are the model's own. Legend: S slots, V vocabulary.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "decode/decoder.h"
#include "decode/kernel_launcher.h"
#include "model/layer.h"

namespace roll {

/// The kinds of mixers that have kernels. Each has its block, add_block() and mix() in device_decoder.cpp, and its
/// kernels in cuda/decode_kernels.h and cuda/attend_pages.h.
using DeviceMixers = MixerKinds<Attention, GatedMlp>;

/// Numbers of the weight that is made of a quantised base or adapters; 0: the model's own is read.
inline int64_t merged_numel(const LinearShape& linear) {
  return linear.adapter.rank > 0 || linear.quantised ? linear.outputs * linear.inputs : 0;
}

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

/// float32 or bfloat16, whole on this rank, with heads that the kernels take.
bool has_device_kernels(const Transformer& model);

/// Bytes that a device decoder takes beside the cache, at most.
int64_t device_decoder_bytes(const Transformer& model, int64_t max_rows, int64_t num_slots);

/// A decoder of a model with has_device_kernels(), on any device that `launcher` serves; both must outlive the result.
std::unique_ptr<DeviceDecoder> make_device_decoder(const Transformer& model, const DecoderSizes& sizes,
                                                   int64_t num_slots, KernelLauncher& launcher);

}  // namespace roll
