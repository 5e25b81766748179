// Choice of the layers whose activations backward recomputes (gradient checkpointing), for the models. It trades time
// for memory; results have the same bits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace roll {

/// Recomputes the first `layers` layers in units of `together` layers; only a unit's input is kept.
struct Recomputation {
  int64_t layers = 0;
  int64_t together = 1;

  /// Returns the fraction of a model's layers that are recomputed.
  double recomputed_share(int64_t num_layers) const {
    return static_cast<double>(std::min(layers, num_layers)) / static_cast<double>(num_layers);
  }
};
constexpr Recomputation kEveryLayer{.layers = std::numeric_limits<int64_t>::max()};

/// Consecutive layers that backward handles together.
struct LayerUnit {
  int64_t first = 0, size = 1;
  bool again = false;  // recomputed in backward
};

/// Splits all layers of a model into units, in order; the last recomputed unit may be smaller.
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
