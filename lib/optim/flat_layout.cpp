#include "optim/flat_layout.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace roll {

namespace {

auto kind_of(const FlatParameter& parameter) {
  return std::tuple(parameter.copies > 1, !parameter.is_matrix, parameter.copies);
}

auto kind_of(const Bucket& bucket) {
  return std::tuple(bucket.copies > 1, !bucket.is_matrix, bucket.copies);
}

/// Backward goes through a model from its end, and is through with the vectors of all layers only at the end.
std::vector<int64_t> order_of_backward(const std::vector<Bucket>& buckets) {
  std::vector<int64_t> order(buckets.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const auto kind_a = kind_of(buckets[a]), kind_b = kind_of(buckets[b]);
    return kind_a != kind_b ? kind_a < kind_b : a > b;
  });
  return order;
}

}  // namespace

FlatLayout plan_flat_layout(const std::vector<FlatParameter>& parameters, int64_t num_slices, int64_t bucket_elements) {
  std::vector<int64_t> order(parameters.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return kind_of(parameters[a]) < kind_of(parameters[b]); });
  FlatLayout layout;
  layout.offsets.resize(parameters.size());
  layout.bucket_of.resize(parameters.size());
  const auto close = [&] {
    if (layout.buckets.empty()) return;
    Bucket& last = layout.buckets.back();
    last.size = (last.size + num_slices - 1) / num_slices * num_slices;
    layout.total = last.begin + last.size;
  };
  for (const int64_t i : order) {
    const FlatParameter& p = parameters[i];
    const bool fits = !layout.buckets.empty() && layout.buckets.back().size < bucket_elements &&
                      kind_of(layout.buckets.back()) == kind_of(p);
    if (!fits) {
      close();
      layout.buckets.push_back({.begin = layout.total, .is_matrix = p.is_matrix, .copies = p.copies});
    }
    Bucket& bucket = layout.buckets.back();
    layout.offsets[i] = bucket.begin + bucket.size;
    layout.bucket_of[i] = std::ssize(layout.buckets) - 1;
    bucket.members.push_back(i);
    bucket.size += p.numel;
  }
  close();
  layout.reduce_order = order_of_backward(layout.buckets);
  return layout;
}

int64_t bucket_elements_for(int64_t num_parameters) {
  return std::clamp<int64_t>(num_parameters / 16, int64_t{1} << 16, int64_t{40} << 20);
}

}  // namespace roll
