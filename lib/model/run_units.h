// Runs layers in units for Backbone::forward: a unit is one or more layers that are recomputed together in backward, or
// one layer that is not.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "model/backbone.h"
#include "model/mixers.h"
#include "ops/recomputation.h"

namespace roll {

/// Returns the output of `layers`, which are all in `units`, for input x. Without data (meta tensors) one unit stands
/// for all that are alike, and counts its collectives as often as there are such units.
at::Tensor run_units(std::span<const LayerWeights> layers, const std::vector<LayerUnit>& units, at::Tensor x,
                     const std::shared_ptr<const LayerPass>& pass, Carried& carried, const ModelParallel& parallel);

}  // namespace roll
