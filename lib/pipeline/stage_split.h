// Which stage of a pipeline has which layers of a model.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace roll {

class StageSplit {
 public:
  /// One stage that has everything.
  StageSplit() = default;
  /// `sizes`: layers of each stage, at least one.
  explicit StageSplit(const std::vector<int64_t>& sizes) : begins_{0} {
    for (const int64_t size : sizes) begins_.push_back(begins_.back() + size);
  }

  int64_t num_stages() const { return std::max<int64_t>(1, std::ssize(begins_) - 1); }
  /// [first, last) layers of a stage of several.
  std::pair<int64_t, int64_t> layers_of(int64_t stage) const { return {begins_[stage], begins_[stage + 1]}; }
  /// The stage of a layer; the first for what lies before the layers (-1), the last for what lies behind them.
  int64_t stage_of(int64_t layer) const {
    const auto behind = std::upper_bound(begins_.begin(), begins_.end(), layer);
    return std::clamp<int64_t>(behind - begins_.begin() - 1, 0, num_stages() - 1);
  }

 private:
  std::vector<int64_t> begins_;  // and where the last ends
};

}  // namespace roll
