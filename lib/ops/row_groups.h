// How rows that are sorted by group share themselves out. A GPU counts them by itself, and is waited for only by who
// asks for the counts.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace roll {

class RowGroups {
 public:
  /// Rows of each group, as the host knows them.
  explicit RowGroups(std::vector<int64_t> counts);
  /// [G] int32: where each group's rows end.
  explicit RowGroups(at::Tensor ends);

  int64_t size() const;
  /// Rows of each group. Waits, once, for a device that alone knows them.
  const std::vector<int64_t>& counts() const;
  /// [G] int32 on `device`, which nobody waits for.
  at::Tensor ends(at::Device device) const;

 private:
  mutable std::optional<std::vector<int64_t>> counts_;
  at::Tensor ends_;
};

}  // namespace roll
