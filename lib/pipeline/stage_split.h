// Maps a model's layers to pipeline stages. The layers are cut into num_stages x num_chunks parts of consecutive
// layers: part k is chunk k / num_stages of stage k % num_stages. Without interleaving (Narayanan et al. 2021), each
// stage has one chunk. Stages, chunks, parts and layers are numbered from 0.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace roll {

class StageSplit {
 public:
  /// Makes one stage with all layers ("default split").
  StageSplit() = default;
  /// `sizes`: number of layers of each part, in order; each stage has `num_chunks` of the parts.
  explicit StageSplit(const std::vector<int64_t>& sizes, int64_t num_chunks = 1) : begins_{0}, num_chunks_(num_chunks) {
    for (const int64_t size : sizes) begins_.push_back(begins_.back() + size);
  }

  int64_t num_stages() const { return num_parts() / num_chunks_; }
  int64_t num_chunks() const { return num_chunks_; }
  int64_t num_parts() const { return std::max<int64_t>(1, std::ssize(begins_) - 1); }
  /// Returns the layers [first, last) of a chunk; `last` is not included. Not for the default split, which does not
  /// know the number of layers.
  std::pair<int64_t, int64_t> chunk_layers(int64_t stage, int64_t chunk) const {
    const int64_t part = chunk * num_stages() + stage;
    return {begins_[part], begins_[part + 1]};
  }
  /// Returns the layers of all chunks of a stage, ascending. Not for the default split.
  std::vector<int64_t> stage_layers(int64_t stage) const {
    std::vector<int64_t> layers;
    for (int64_t chunk = 0; chunk < num_chunks_; ++chunk) {
      const auto [first, last] = chunk_layers(stage, chunk);
      for (int64_t layer = first; layer < last; ++layer) layers.push_back(layer);
    }
    return layers;
  }
  /// Returns the stage that has the layer; for -1 (parameters before the layers) the first stage, for numbers above the
  /// last layer's (parameters after the layers) the last stage.
  int64_t layer_stage(int64_t layer) const {
    const auto behind = std::upper_bound(begins_.begin(), begins_.end(), layer);
    return std::clamp<int64_t>(behind - begins_.begin() - 1, 0, num_parts() - 1) % num_stages();
  }
  bool operator==(const StageSplit&) const = default;

 private:
  std::vector<int64_t> begins_;  // first layer of each part, then the number of layers; empty for the default split
  int64_t num_chunks_ = 1;
};

}  // namespace roll
