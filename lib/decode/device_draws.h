// Logits and drawn tokens of the device decoder, for device_decoder.cpp.
#pragma once

#include <ATen/core/Tensor.h>

#include "decode/device_decoder.h"
#include "decode/device_sizes.h"
#include "model/transformer.h"

namespace roll {

class DeviceDraws {
 public:
  /// `widths`: those of the model. `launcher` must outlive it.
  DeviceDraws(const Transformer& model, const RowWidths& widths, int64_t num_slots, KernelLauncher& launcher);

  /// Returns memory for StepMemory::drawn.
  at::Tensor make_drawn() const;
  /// Draws for the first num_draws RowDraw of memory.plan, from head_input [num_draws, hidden]: the rows' hidden states
  /// after the final norm. **Collective** over the tensor-parallel ranks.
  void draw(const at::Tensor& head_input, int64_t num_draws, const StepMemory& memory);

 private:
  void draw_share(int64_t num_draws, const StepMemory& memory);
  void sample(const at::Tensor& logits, int64_t shard_rows, int64_t first, int64_t count, const StepMemory& memory);

  KernelLauncher& launcher_;
  Communicator* tp_;  // null: no tensor parallelism
  int64_t vocab_size_;
  at::Tensor head_;
  at::Tensor logits_, gathered_logits_;  // [ranks * rows per rank, vocabulary of a rank]
  at::Tensor scratch_;                   // bytes: RowScratch per row of a rank
};

}  // namespace roll
