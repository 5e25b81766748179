// Runs the layers of Backbone::forward(), and recomputes some in backward. A LayerUnit is one or more layers that are
// recomputed together, or one layer that is not.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "model/backbone.h"
#include "model/mixers.h"
#include "ops/recomputation.h"

namespace roll {

/// Returns the output of `layers` for input x: [tokens of this tensor rank, E] -> the same. `units`: layer_units() of
/// these layers. `carried`: as for run_layer() (mixers.h), whose collectives it has. If x is a meta tensor (for
/// forecasts), it runs one of several equal units, and counts its collectives as often as there are such units.
at::Tensor run_units(std::span<const LayerWeights> layers, const std::vector<LayerUnit>& units, at::Tensor x,
                     const std::shared_ptr<const LayerPass>& pass, Carried& carried, const ModelParallel& parallel);

}  // namespace roll
