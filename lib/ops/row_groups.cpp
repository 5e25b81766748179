#include "ops/row_groups.h"

#include <ATen/ATen.h>

#include <numeric>

#include "device/transfers.h"

namespace roll {

RowGroups::RowGroups(std::vector<int64_t> counts) : counts_(std::move(counts)) {}

RowGroups::RowGroups(at::Tensor ends) : ends_(std::move(ends)) {}

int64_t RowGroups::size() const {
  return ends_.defined() ? ends_.size(0) : std::ssize(*counts_);
}

const std::vector<int64_t>& RowGroups::counts() const {
  if (!counts_) {
    const at::Tensor host_ends = ends_.to(at::kCPU);
    const auto* const ends = host_ends.const_data_ptr<int32_t>();
    counts_.emplace();
    for (int64_t g = 0; g < host_ends.size(0); ++g) counts_->push_back(ends[g] - (g > 0 ? ends[g - 1] : 0));
  }
  return *counts_;
}

at::Tensor RowGroups::ends(at::Device device) const {
  if (ends_.defined()) return ends_.to(device);
  std::vector<int32_t> ends(counts_->begin(), counts_->end());
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  return copy_to_device(at::tensor(ends, at::kInt), device);
}

}  // namespace roll
