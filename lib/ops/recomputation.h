// Which layers of a model backward computes again instead of keeping what they computed. Results have the same bits
// whatever that is; it trades time for memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace roll {

/// The first `layers` of a model, `together` at a time: of those together only the first one's input is kept.
struct Recomputation {
  int64_t layers = 0;
  int64_t together = 1;

  /// Their share of a model's layers.
  double share_of(int64_t num_layers) const {
    return static_cast<double>(std::min(layers, num_layers)) / static_cast<double>(num_layers);
  }
};
constexpr Recomputation kEveryLayer{.layers = std::numeric_limits<int64_t>::max()};

/// Neighbouring layers that are differentiated together.
struct LayerUnit {
  int64_t first = 0, size = 1;
  bool again = false;  // computed once more for that
};

/// All layers of a model, in order; the last of the recomputed units may be smaller.
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
