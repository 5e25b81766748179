// Row counts of groups (experts), for rows that are sorted by group. A GPU computes them; only counts() waits for it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace roll {

class RowGroups {
 public:
  /// Takes the number of rows of each group, known on the host.
  explicit RowGroups(std::vector<int64_t> counts);
  /// Takes the end of each group's rows, [G] int32, on any device.
  explicit RowGroups(at::Tensor ends);

  int64_t size() const;
  /// Returns the number of rows of each group. The first call waits for the device if the host does not know them.
  const std::vector<int64_t>& counts() const;
  /// Returns the end of each group's rows, [G] int32 on `device`, without waiting.
  at::Tensor ends(at::Device device) const;

 private:
  mutable std::optional<std::vector<int64_t>> counts_;
  at::Tensor ends_;
};

}  // namespace roll
