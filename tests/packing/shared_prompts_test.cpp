#include "packing/shared_prompts.h"

#include <catch2/catch.hpp>

#include "packing/statistics.h"

namespace roll {

namespace {

/// Two groups, their members mixed: prompts of 9 and 5 tokens.
SequenceSizes two_groups() {
  return {{12, 8, 10, 7, 9}, {0, 1, 0, 1, 0}, {9, 5, 9, 5, 9}};
}

}  // namespace

TEST_CASE("all of a prompt but its last token is computed once, in whole multiples of the alignment", "[packing]") {
  CHECK(shared_tokens(9, 1) == 8);
  CHECK(shared_tokens(9, 4) == 8);
  CHECK(shared_tokens(8, 4) == 4);
  CHECK(shared_tokens(1, 1) == 0);
  CHECK(shared_tokens(4, 8) == 0);
}

TEST_CASE("what sequences take together leaves out prompts that others of the group compute", "[packing]") {
  const Workload workload{.linear = 2, .attention = 1};
  const SequenceSizes sizes = two_groups();
  const Load whole = total_load(sizes, {0, 1, 2, 3, 4}, 4, workload, false);
  CHECK(whole.tokens == 46);
  CHECK(whole.aligned_tokens == 12 + 8 + 12 + 8 + 12);
  CHECK(whole.work == 2 * 46 + 144 + 64 + 100 + 49 + 81);
  CHECK(whole.shared == 0);
  const Load shared = total_load(sizes, {0, 1, 2, 3, 4}, 4, workload, true);
  CHECK(shared.shared == 8 + 4 + 8);
  CHECK(shared.tokens == 46 - 20);
  CHECK(shared.aligned_tokens == 52 - 20);
  CHECK(shared.work == whole.work - 2 * (16 + 64) - (8 + 16));
  CHECK(total_load(sizes, {0, 1}, 4, workload, true).tokens == 20);
  CHECK(total_load(sizes.lengths, {0, 2}, 4, workload, true).tokens == 22);  // nothing is known of prompts
}

TEST_CASE("auto shares prompts where that saves a twentieth of the work, the other wishes always or never",
          "[packing]") {
  const auto shares = [](SharePrompts wish, int64_t prompt) {
    return shares_prompts({{100, 100}, {0, 0}, {prompt, prompt}}, wish, 1, {});
  };
  CHECK(shares(SharePrompts::kAuto, 11));  // 10 of 200
  CHECK_FALSE(shares(SharePrompts::kAuto, 10));
  CHECK(shares(SharePrompts::kTrue, 1));
  CHECK_FALSE(shares(SharePrompts::kFalse, 90));
  CHECK_FALSE(shares_prompts({{100, 100}, {0, 1}, {90, 90}}, SharePrompts::kAuto, 1, {}));
  CHECK_FALSE(shares_prompts(std::vector<int64_t>{100, 100}, SharePrompts::kAuto, 1, {}));
}

TEST_CASE("groups are cut into even pieces, and into more where these would be over the budget", "[packing]") {
  const SequenceSizes sizes = two_groups();
  CHECK(cut_groups(sizes, 5, 0, 1) == Partition{{0, 2, 4}, {1, 3}});
  CHECK(cut_groups(sizes, 2, 0, 1) == Partition{{0}, {2, 4}, {1, 3}});
  CHECK(cut_groups(sizes, 1, 0, 1) == Partition{{0}, {2}, {4}, {1}, {3}});
  CHECK(cut_groups(sizes, 5, 15, 1) == Partition{{0, 2, 4}, {1, 3}});  // 12 + 2 + 1
  CHECK(cut_groups(sizes, 5, 14, 1) == Partition{{0}, {2, 4}, {1, 3}});
  CHECK(cut_groups(sizes, 5, 10, 1) == Partition{{0}, {2}, {4}, {1}, {3}});
}

TEST_CASE("the statistics of a plan say what prompts save", "[packing]") {
  const PackOptions options{.budget = 20, .share_prompts = SharePrompts::kTrue};
  const BatchStats stats = batch_stats({{{0, 2}, {4}}, {{1, 3}, {}}}, two_groups(), options);
  CHECK(stats.tokens() == 46 - 8 - 4);
  CHECK(stats.shared() == Approx(12.0 / 46));
  CHECK(stats.fills() == std::vector<double>{14.0 / 20, 9.0 / 20, 11.0 / 20});
  CHECK(stats.num_over_budget() == 0);
}

}  // namespace roll
