// Sends tensors from a pipeline stage to the next one at a layer boundary, for Backbone::forward(). The tensors are x
// (the output of the last layer before the boundary) and those of Carried (mixers.h) that later layers read.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "model/layer.h"

namespace roll {

struct Carried;
class LayerWeights;
class PipelineStage;

/// Sizes of the tensors to send at one boundary.
struct Handover {
  /// Heads of shared keys (and values) on a tensor rank. number 0: nothing to send, because no layer after the boundary
  /// reads the keys, or such a layer makes them.
  struct Heads {
    int64_t number = 0, dim = 0;  // heads, and elements of each
    bool operator==(const Heads&) const = default;
  };
  int64_t first = 0;             // number of the first layer after the boundary
  int64_t num_inputs = 0;        // layers from `first` on that have a per-layer input (LayerInput)
  int64_t width = 0;             // elements of a per-layer input
  std::array<Heads, 2> heads{};  // shared keys and values, indexed by Attention::shared
};

/// Returns the sizes for the boundary before layer `first`. `layers`: all of the model; `tp`: number of tensor ranks.
Handover handover_before(const std::vector<Layer>& layers, int64_t first, int64_t tp);

/// Sizes of a micro-batch's x: this context rank has `tokens` slots, and each of its `tp` tensor ranks holds an
/// equal part, [tokens / tp, hidden].
struct HandedRows {
  int64_t tokens = 0, tp = 1, hidden = 0;
};

/// Receives the tensors from the previous stage: returns x, with `options`, and fills `carried`. The previous stage
/// must call hand_over() with equal sizes.
at::Tensor take_over(PipelineStage& stage, const Handover& handover, const HandedRows& rows,
                     const at::TensorOptions& options, Carried& carried);
/// Sends x and the tensors of `carried` that `handover` lists to the next stage.
void hand_over(PipelineStage& stage, const Handover& handover, const at::Tensor& x, const Carried& carried);

/// Returns the values of Attention::shared for the shared keys and values that these layers make (not only read).
std::vector<size_t> shared_by(std::span<const LayerWeights> layers);

}  // namespace roll
