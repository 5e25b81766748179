#include "optim/flat_layout.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "model/parameter_shards.h"

namespace roll {

namespace {

/// Returns the order in which backward completes a FlatParameter or a Bucket.
template <class T>
auto backward_kind(const T& part) {
  return std::tuple(part.copies > 1, !part.is_matrix, part.copies);
}

/// Returns the properties that all parameters of a bucket share; for a FlatParameter or a Bucket.
template <class T>
auto bucket_kind(const T& part) {
  return std::tuple(part.uses_muon, backward_kind(part));
}

/// Elements that kernels read and write at once (ops/fused_layer.h), in parameters, gradients and state slices.
constexpr int64_t kVector = 8;

int64_t padded(int64_t x, int64_t multiple) {
  return (x + multiple - 1) / multiple * multiple;
}

/// Returns the buckets in backward's order, from the last layer to the first. Vectors of all layers share buckets, so
/// these are complete only at the end.
std::vector<int64_t> backward_order(const std::vector<Bucket>& buckets) {
  std::vector<int64_t> order(buckets.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const auto kind_a = backward_kind(buckets[a]), kind_b = backward_kind(buckets[b]);
    return kind_a != kind_b ? kind_a < kind_b : a > b;
  });
  return order;
}

}  // namespace

int64_t FlatLayout::muon_begin() const {
  const auto first = std::ranges::find_if(buckets, &Bucket::uses_muon);
  return first == buckets.end() ? total : first->begin;
}

FlatParameter flat_shard(const ParameterShape& parameter, int64_t rank, int64_t size) {
  const TensorShard part = make_tensor_shard(parameter.cut, rank, size);
  FlatParameter shard{.numel = 1, .is_matrix = parameter.shape.size() >= 2, .copies = part.copies};
  for (int64_t dim = 0; dim < std::ssize(parameter.shape); ++dim)
    shard.numel *= dim == part.dim ? part.end - part.begin : parameter.shape[dim];
  return shard;
}

FlatLayout plan_flat_layout(const std::vector<FlatParameter>& parameters, int64_t num_slices, int64_t bucket_elements) {
  std::vector<int64_t> order(parameters.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return bucket_kind(parameters[a]) < bucket_kind(parameters[b]); });
  FlatLayout layout;
  layout.offsets.resize(parameters.size());
  layout.bucket_by_tensor.resize(parameters.size());
  const auto close = [&] {
    if (layout.buckets.empty()) return;
    Bucket& last = layout.buckets.back();
    last.size = padded(last.size, num_slices);
    layout.total = padded(last.begin + last.size, num_slices * kVector);
  };
  for (const int64_t i : order) {
    const FlatParameter& p = parameters[i];
    const bool fits = !layout.buckets.empty() && layout.buckets.back().size < bucket_elements &&
                      layout.buckets.back().unit == p.unit && bucket_kind(layout.buckets.back()) == bucket_kind(p);
    if (!fits) {
      close();
      layout.buckets.push_back({.begin = layout.total,
                                .is_matrix = p.is_matrix,
                                .unit = p.unit,
                                .copies = p.copies,
                                .uses_muon = p.uses_muon});
    }
    Bucket& bucket = layout.buckets.back();
    layout.offsets[i] = bucket.begin + bucket.size;
    layout.bucket_by_tensor[i] = std::ssize(layout.buckets) - 1;
    bucket.members.push_back(i);
    bucket.size += p.numel;
  }
  close();
  layout.reduce_order = backward_order(layout.buckets);
  return layout;
}

int64_t bucket_elements_for(int64_t num_parameters) {
  return std::clamp<int64_t>(num_parameters / 16, int64_t{1} << 16, int64_t{40} << 20);
}

}  // namespace roll
