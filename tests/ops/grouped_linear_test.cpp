// Grouped products as a GPU has them, on the fake device, and what they fall back to.
#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "ops/fake_device.h"
#include "ops/grouped_cases.h"
#include "ops/grouped_products.h"
#include "ops/sorted_rows.h"

namespace roll {

using test::Lying;

TEST_CASE("grouped products read where groups end on the device, and are the CPU's, gradients too", "[ops]") {
  const auto counts = GENERATE(from_range(test::kRowCounts));
  const int64_t parts = GENERATE(1, 2);
  const auto lying = GENERATE(Lying::kTogether, Lying::kApart, Lying::kSpaced);
  const bool has_gradients = GENERATE(false, true);
  test::check_grouped(test::fake_device(), at::kBFloat16, 2e-2, {counts, 24, 16, parts, lying, has_gradients});
}

TEST_CASE("what no grouped product takes is multiplied group by group", "[ops]") {
  const auto [dtype, inputs, outputs] = GENERATE(table<at::ScalarType, int64_t, int64_t>(
      {{at::kFloat, 24, 16}, {at::kBFloat16, 20, 16}, {at::kBFloat16, 24, 12}}));
  const int64_t parts = GENERATE(1, 2);
  const bool has_gradients = GENERATE(false, true);
  test::take_device_counts();
  test::check_grouped(test::fake_device(), dtype, dtype == at::kFloat ? 1e-5 : 2e-2,
                      {{3, 0, 70, 1}, inputs, outputs, parts, Lying::kTogether, has_gradients});
  CHECK_FALSE(test::take_device_counts().launches.contains("aten::_grouped_mm"));
}

TEST_CASE("rows are sorted, multiplied and combined without a wait for the device", "[ops]") {
  const at::Device device = test::fake_device();
  const at::Tensor choices = at::randint(7, {30, 3}, at::kLong).to(device);
  const at::Tensor x = at::randn({30, 16}).to(at::kBFloat16).to(device).requires_grad_(true);
  const at::Tensor shares = at::rand({30, 3}).to(device).requires_grad_(true);
  const auto weights = test::lying(at::randn({7, 24, 16}).to(at::kBFloat16).unbind(), Lying::kTogether, device);
  const at::Tensor kept = at::zeros({7, 24, 16}).to(device), slopes = at::randn({30, 24}).to(at::kBFloat16).to(device);
  for (int64_t g = 0; g < 7; ++g) weights[g].mutable_grad() = kept[g];
  test::take_device_counts();
  const SortedRows rows = sort_rows(choices, 7);
  combine_rows(grouped_linear(spread_rows(x, rows), rows.groups, weights), shares, rows).backward(slopes);
  test::DeviceCounts counts = test::take_device_counts();
  CHECK(counts.waits == std::map<std::string, int64_t>());
  CHECK(counts.copies_in == std::map<std::string, int64_t>());
  CHECK(counts.launches["aten::_grouped_mm"] == 3);
  CHECK(rows.groups.counts().size() == 7);
  CHECK(rows.groups.counts().data() == rows.groups.counts().data());
  CHECK(test::DeviceCounts::sum(test::take_device_counts().waits) == 1);
}

TEST_CASE("weights are one matrix where they lie equally far apart, and only there", "[ops]") {
  const at::Tensor all = at::arange(6 * 4 * 8, at::kFloat).to(at::kBFloat16).view({6, 4, 8});
  const std::vector<at::Tensor> each = all.unbind();
  const auto in_place = [&](const std::vector<int64_t>& which, int64_t parts) {
    std::vector<at::Tensor> chosen;
    for (const int64_t i : which) chosen.push_back(i < 0 ? at::Tensor() : each[i]);
    const at::Tensor found = stacked_in_place(chosen, parts);
    if (!found.defined()) return false;
    CHECK(found.is_alias_of(all));
    CHECK(at::equal(found, at::stack(chosen).view({std::ssize(which) / parts, parts * 4, 8})));
    return true;
  };
  CHECK(in_place({0, 1, 2, 3, 4, 5}, 1));
  CHECK(in_place({0, 1, 2, 3, 4, 5}, 2));
  CHECK(in_place({1, 3, 5}, 1));
  CHECK(in_place({0, 1, 3, 4}, 2));
  CHECK(in_place({2}, 1));
  CHECK_FALSE(in_place({0, 2, 3, 5}, 2));
  CHECK_FALSE(in_place({0, 1, 3}, 1));
  CHECK_FALSE(in_place({0, 2, 1}, 1));
  CHECK_FALSE(in_place({2, 1, 0}, 1));
  CHECK_FALSE(in_place({1, 1}, 1));
  CHECK_FALSE(in_place({0, -1}, 1));
  CHECK_FALSE(in_place({-1, 0}, 1));
  CHECK_FALSE(stacked_in_place({each[0], each[1].clone()}, 1).defined());
  CHECK_FALSE(stacked_in_place({each[0], all.clone()[1]}, 1).defined());
  const at::Tensor odd = at::zeros({1 + 4 * 8}, at::kBFloat16).narrow(0, 1, 32).view({4, 8});  // begins anywhere
  CHECK_FALSE(stacked_in_place({odd}, 1).defined());
  CHECK(at::equal(stacked({each[4], each[0]}, 1), at::stack({each[4], each[0]})));
}

TEST_CASE("sorted rows say where each group ends, of no rows too", "[ops]") {
  const SortedRows rows = sort_rows(at::tensor({2, 0, 0, 3, 2, 3, 0, 2}, at::kLong).view({4, 2}), 5);
  CHECK(at::equal(rows.groups.ends(at::kCPU), at::tensor({3, 3, 6, 8, 8}, at::kInt)));
  CHECK(rows.groups.counts() == std::vector<int64_t>{3, 0, 3, 2, 0});
  CHECK(at::equal(RowGroups(rows.groups.counts()).ends(at::kCPU), rows.groups.ends(at::kCPU)));
  const SortedRows none = sort_rows(at::empty({0, 2}, at::kLong), 3);
  CHECK(none.groups.counts() == std::vector<int64_t>{0, 0, 0});
  CHECK(none.groups.size() == 3);
}

}  // namespace roll
