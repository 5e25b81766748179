// Products of groups on a device against the CPU's own in float32: on one that tests simulate, and on a GPU.
#pragma once

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "ops/grouped_linear.h"

namespace roll::test {

/// How the weights lie: one behind the other, each by itself, or so that there is something between those of groups.
enum class Lying { kTogether, kApart, kSpaced };

struct GroupedCase {
  std::vector<int64_t> counts;
  int64_t inputs, outputs, parts;
  Lying lying;
  bool has_gradients;  // in float32, before there are products
};

inline const std::vector<std::vector<int64_t>> kRowCounts = {
    {3, 0, 70, 1, 200}, {0, 0, 5}, {4, 0, 0, 0}, {0, 131, 0}, {0, 0, 0}, {1}, {0, 1, 0, 8, 0, 9}};

/// Largest difference over the largest value.
inline double relative_difference(const at::Tensor& found, const at::Tensor& exact) {
  const at::Tensor x = found.detach().cpu().to(at::kDouble), y = exact.detach().to(at::kDouble);
  if (x.sizes() != y.sizes()) return INFINITY;
  if (y.numel() == 0) return 0;
  const double difference = (x - y).abs().max().item<double>();
  return std::isfinite(difference) ? difference / std::max(1e-30, y.abs().max().item<double>()) : INFINITY;
}

/// Leaves of `numbers` on a device.
inline std::vector<at::Tensor> lying(const std::vector<at::Tensor>& numbers, Lying how, at::Device device) {
  std::vector<at::Tensor> leaves;
  const int64_t step = how == Lying::kSpaced ? 3 : 1;
  const at::Tensor all = at::zeros({std::ssize(numbers) * step, numbers[0].size(0), numbers[0].size(1)},
                                   numbers[0].options().device(device));
  for (size_t i = 0; i < numbers.size(); ++i) {
    const at::Tensor own =
        how == Lying::kApart ? numbers[i].to(device).clone() : all[static_cast<int64_t>(i) * step].copy_(numbers[i]);
    leaves.push_back(own.detach().requires_grad_(true));
  }
  return leaves;
}

inline void check_grouped(at::Device device, at::ScalarType dtype, double tolerance, const GroupedCase& c) {
  INFO(fmt::format("rows {}, {} inputs, {} outputs, {} parts, weights lie as {}, {} gradients before", c.counts,
                   c.inputs, c.outputs, c.parts, static_cast<int>(c.lying), c.has_gradients ? "with" : "without"));
  at::manual_seed(3);
  const int64_t groups = std::ssize(c.counts);
  const RowGroups on_host(c.counts);
  const at::Tensor ends = on_host.ends(at::kCPU);
  const int64_t rows = ends[-1].item<int32_t>();
  const at::Tensor x = at::randn({rows, c.inputs}).to(dtype), slopes = at::randn({rows, c.parts * c.outputs}).to(dtype);
  std::vector<at::Tensor> numbers, wide;
  for (int64_t i = 0; i < groups * c.parts; ++i) {
    numbers.push_back(at::randn({c.outputs, c.inputs}).to(dtype));
    wide.push_back(numbers.back().to(at::kFloat).clone().requires_grad_(true));
  }
  const at::Tensor exact_x = x.to(at::kFloat).clone().requires_grad_(true);
  const at::Tensor exact = grouped_linear(exact_x, on_host, wide, c.parts);
  exact.backward(slopes.to(at::kFloat));

  const at::Tensor own_x = x.to(device).clone().requires_grad_(true);
  const std::vector<at::Tensor> weights = lying(numbers, c.lying, device);
  const auto wide_there = at::TensorOptions(device).dtype(at::kFloat);
  const at::Tensor kept = at::ones({groups * c.parts, c.outputs, c.inputs}, wide_there);
  for (int64_t i = 0; c.has_gradients && i < groups * c.parts; ++i)
    weights[i].mutable_grad() = c.lying == Lying::kApart ? kept[i].clone() : kept[i];
  for (int i = 0; i < 3; ++i)  // what is allocated next is no number until it is written
    (void)at::full({groups * c.parts * c.outputs * c.inputs}, std::nan(""), x.options().device(device));
  const at::Tensor found = grouped_linear(own_x, RowGroups(ends.to(device)), weights, c.parts);
  found.backward(slopes.to(device));

  CHECK(found.scalar_type() == dtype);
  const double of_products = relative_difference(found, exact),
               of_inputs = relative_difference(own_x.grad(), exact_x.grad());
  CHECK(of_products < tolerance);
  CHECK(of_inputs < tolerance);
  for (int64_t i = 0; i < groups * c.parts; ++i) {
    INFO("gradient of the weight of group " << i / c.parts << ", part " << i % c.parts);
    const at::Tensor own = weights[i].grad();
    const at::Tensor expected = wide[i].grad().defined() ? wide[i].grad() : at::zeros_like(wide[i]);
    const at::Tensor zero = at::zeros_like(expected);
    const at::Tensor gradient = !own.defined() ? zero : own.cpu().to(at::kFloat) - (c.has_gradients ? 1 : 0);
    const bool has_rows = c.counts[i / c.parts] > 0;
    if (has_rows) CHECK(relative_difference(gradient, expected) < tolerance);
    if (!has_rows) CHECK(at::equal(gradient, zero));
    if (c.has_gradients) CHECK(own.scalar_type() == at::kFloat);
  }
}

}  // namespace roll::test
