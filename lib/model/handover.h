// What the layers behind a border of a model are given, beside x, of what was made before it (Carried in mixers.h):
// what a stage of a pipeline sends to the next one.
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
  /// Of a tensor rank; none: nobody behind reads them, or they are made there.
  struct Heads {
    int64_t number = 0, dim = 0;
    bool operator==(const Heads&) const = default;
  };
  int64_t first = 0;                  // the layer behind the border
  int64_t num_inputs = 0, width = 0;  // of LayerInput: of all layers from there on
  std::array<Heads, 2> heads{};       // keys and values, by Attention::shared
};

Handover handover_before(const std::vector<Layer>& layers, int64_t first, int64_t tp);

/// Of a micro-batch: the tokens of a context rank, of which tensor ranks have their part between products.
struct HandedRows {
  int64_t tokens = 0, tp = 1, hidden = 0;
};

/// x from the stage before, and what is handed over with it.
at::Tensor take_over(PipelineStage& stage, const Handover& handover, const HandedRows& rows,
                     const at::TensorOptions& options, Carried& carried);
void hand_over(PipelineStage& stage, const Handover& handover, const at::Tensor& x, const Carried& carried);

/// Which keys and values that others read the layers make, by Attention::shared.
std::vector<size_t> shared_by(std::span<const LayerWeights> layers);

}  // namespace roll
