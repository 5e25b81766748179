// RowGroups holds the number of rows of each group. It describes rows that are sorted by group, where a group is the
// expert that they go to. grouped_linear.h and sorted_rows.h use it. A GPU may have computed the numbers; only counts()
// waits for the GPU.
// Legend: G groups.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace roll {

/// Not thread-safe.
class RowGroups {
 public:
  /// Takes the number of rows of each group.
  explicit RowGroups(std::vector<int64_t> counts);
  /// Takes the index after each group's last row, [G] int32, on any device; the last element is the number of all rows.
  explicit RowGroups(at::Tensor ends);

  /// Returns G.
  int64_t size() const;
  /// Returns the number of rows of each group. The first call waits for the device if the host does not know them.
  const std::vector<int64_t>& counts() const;
  /// Returns the index after each group's last row, [G] int32 on `device`, without waiting for the device.
  at::Tensor ends(at::Device device) const;

 private:
  mutable std::optional<std::vector<int64_t>> counts_;
  at::Tensor ends_;
};

}  // namespace roll
