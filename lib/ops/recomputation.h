// Chooses the layers whose activations are not kept but computed again in backward (gradient checkpointing), for the
// models. It trades time for memory; results have the same bits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace roll {

/// The setting for a model; with pipeline parallelism it holds for each chunk of layers. The default recomputes
/// nothing.
struct Recomputation {
  int64_t layers = 0;    // the first `layers` layers are recomputed; may exceed the number of layers
  int64_t together = 1;  // layers per unit; only the input of a unit is kept until backward computes the unit again

  /// Returns the fraction of `num_layers` layers that are recomputed, from 0 to 1.
  double recomputed_share(int64_t num_layers) const {
    return static_cast<double>(std::min(layers, num_layers)) / static_cast<double>(num_layers);
  }
};
constexpr Recomputation kEveryLayer{.layers = std::numeric_limits<int64_t>::max()};

/// Consecutive layers that are recomputed together, or one layer that is not recomputed.
struct LayerUnit {
  int64_t first = 0, size = 1;  // index of the first layer, number of layers
  bool is_recomputed = false;
};

/// Splits layers 0 .. num_layers - 1 into units, in order; the last recomputed unit may be smaller.
inline std::vector<LayerUnit> layer_units(const Recomputation& recomputation, int64_t num_layers) {
  const int64_t num_recomputed = std::min(recomputation.layers, num_layers);
  std::vector<LayerUnit> units;
  for (int64_t first = 0; first < num_layers; first += units.back().size)
    units.push_back({.first = first,
                     .size = first < num_recomputed ? std::min(recomputation.together, num_recomputed - first) : 1,
                     .is_recomputed = first < num_recomputed});
  return units;
}

}  // namespace roll
