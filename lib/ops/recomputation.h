// Choice of the layers that are computed again in backward, instead of keeping their activations (gradient
// checkpointing), for the models. It trades time for memory; results have the same bits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace roll {

/// The default recomputes nothing.
struct Recomputation {
  int64_t layers = 0;    // the first `layers` layers (of a pipeline's chunk) are recomputed; may exceed their number
  int64_t together = 1;  // layers per unit; only the input of a unit is kept until backward computes the unit again

  /// Returns the fraction of a model's layers that are recomputed.
  double recomputed_share(int64_t num_layers) const {
    return static_cast<double>(std::min(layers, num_layers)) / static_cast<double>(num_layers);
  }
};
constexpr Recomputation kEveryLayer{.layers = std::numeric_limits<int64_t>::max()};

/// Consecutive layers that are recomputed together, or one layer that is not recomputed.
struct LayerUnit {
  int64_t first = 0, size = 1;  // index of the first layer, number of layers
  bool again = false;           // true: recomputed in backward
};

/// Splits layers 0 .. num_layers - 1 into units, in order; the last recomputed unit may be smaller.
inline std::vector<LayerUnit> layer_units(const Recomputation& recomputation, int64_t num_layers) {
  const int64_t again = std::min(recomputation.layers, num_layers);
  std::vector<LayerUnit> units;
  for (int64_t first = 0; first < num_layers; first += units.back().size)
    units.push_back({.first = first,
                     .size = first < again ? std::min(recomputation.together, again - first) : 1,
                     .again = first < again});
  return units;
}

}  // namespace roll
