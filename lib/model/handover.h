// Tensors that a pipeline stage sends to the next one: x, and results of earlier layers that later layers read (Carried
// in mixers.h).
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

struct Handover {
  /// Shared keys and values per tensor rank; 0: no later layer reads them, or a later layer makes them.
  struct Heads {
    int64_t number = 0, dim = 0;
    bool operator==(const Heads&) const = default;
  };
  int64_t first = 0;                  // first layer after the boundary
  int64_t num_inputs = 0, width = 0;  // per-layer inputs (LayerInput) from `first` on, elements of each
  std::array<Heads, 2> heads{};       // keys and values, by Attention::shared
};

/// Returns the sizes of the tensors to hand over before layer `first`; `tp`: number of tensor ranks.
Handover handover_before(const std::vector<Layer>& layers, int64_t first, int64_t tp);

/// Rows of a micro-batch: tokens of a context rank, divided over `tp` tensor ranks between products.
struct HandedRows {
  int64_t tokens = 0, tp = 1, hidden = 0;
};

/// Receives x from the previous stage, and `carried`.
at::Tensor take_over(PipelineStage& stage, const Handover& handover, const HandedRows& rows,
                     const at::TensorOptions& options, Carried& carried);
/// Sends x and `carried` to the next stage.
void hand_over(PipelineStage& stage, const Handover& handover, const at::Tensor& x, const Carried& carried);

/// Returns the shared keys and values that these layers make, as indices of Attention::shared.
std::vector<size_t> shared_by(std::span<const LayerWeights> layers);

}  // namespace roll
