#include "optim/flat_layout.h"

#include <catch2/catch.hpp>

#include "base/random.h"

namespace roll {

namespace {

using Numbers = std::vector<int64_t>;

std::vector<FlatParameter> random_parameters(uint64_t seed) {
  std::vector<FlatParameter> parameters;
  for (uint64_t i = 0; i < 1 + seed % 17; ++i) {
    const auto random = [&](uint32_t purpose) {
      return random_uniform({.seed = seed, .sequence = i, .position = purpose});
    };
    parameters.push_back({.numel = 1 + static_cast<int64_t>(50 * random(0)),
                          .is_matrix = random(1) < 0.5,
                          .copies = random(2) < 0.7    ? 1
                                    : random(2) < 0.85 ? 2
                                                       : 4});
  }
  return parameters;
}

}  // namespace

TEST_CASE("matrices come before vectors and copies last, in buckets that slices divide", "[train]") {
  const FlatLayout layout = plan_flat_layout({{.numel = 6, .is_matrix = true},
                                              {.numel = 3},
                                              {.numel = 5, .is_matrix = true},
                                              {.numel = 4, .is_matrix = true, .copies = 2},
                                              {.numel = 2, .copies = 4},
                                              {.numel = 7, .is_matrix = true},
                                              {.numel = 1}},
                                             4, 8);
  const std::vector<Numbers> members = {{0, 2}, {5}, {1, 6}, {3}, {4}};
  const Numbers begins = {0, 32, 64, 96, 128}, sizes = {12, 8, 4, 4, 4}, copies = {1, 1, 1, 2, 4};
  const Numbers are_matrices = {1, 1, 0, 1, 0};
  REQUIRE(layout.buckets.size() == members.size());
  for (size_t b = 0; b < members.size(); ++b) {
    CHECK(layout.buckets[b].members == members[b]);
    CHECK(layout.buckets[b].begin == begins[b]);
    CHECK(layout.buckets[b].size == sizes[b]);
    CHECK(layout.buckets[b].copies == copies[b]);
    CHECK(layout.buckets[b].is_matrix == are_matrices[b]);
  }
  CHECK(layout.offsets == Numbers{0, 64, 6, 96, 128, 32, 67});
  CHECK(layout.bucket_by_tensor == Numbers{0, 2, 0, 3, 4, 1, 2});
  CHECK(layout.total == 160);
  // As backward is through with them: the last matrices first, vectors after all matrices, copies at the end.
  CHECK(layout.reduce_order == Numbers{1, 0, 2, 3, 4});
}

TEST_CASE("what Muon updates lies behind what AdamW updates, and leaves in backward's order", "[train]") {
  const FlatLayout layout = plan_flat_layout({{.numel = 8, .is_matrix = true},  // an embedding
                                              {.numel = 6, .is_matrix = true, .uses_muon = true},
                                              {.numel = 3},
                                              {.numel = 9, .is_matrix = true, .uses_muon = true},
                                              {.numel = 4, .is_matrix = true, .copies = 2, .uses_muon = true}},
                                             2, 4);
  CHECK(layout.offsets == Numbers{0, 32, 16, 48, 64});
  CHECK(layout.muon_begin() == 32);
  CHECK(layout.reduce_order == Numbers{3, 2, 0, 1, 4});
  CHECK(plan_flat_layout({{.numel = 3}}, 2, 4).muon_begin() == 16);
}

TEST_CASE("every parameter has its own place, and every bucket is of one kind and divisible", "[train]") {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const auto parameters = random_parameters(seed);
    const int64_t num_slices = 1 + static_cast<int64_t>(seed % 5), limit = 1 + static_cast<int64_t>(seed % 70);
    const FlatLayout layout = plan_flat_layout(parameters, num_slices, limit);
    int64_t end = 0, members = 0;
    for (size_t b = 0; b < layout.buckets.size(); ++b) {
      const Bucket& bucket = layout.buckets[b];
      REQUIRE((bucket.begin >= end && bucket.begin - end < 8 * num_slices));
      REQUIRE(bucket.begin % (8 * num_slices) ==
              0);  // so that vectors of 16 bytes lie in it, and in every slice of states
      REQUIRE(bucket.size % num_slices == 0);
      int64_t next = bucket.begin;
      for (const int64_t i : bucket.members) {
        REQUIRE(next - bucket.begin < limit);  // a full bucket takes no more
        REQUIRE(layout.offsets[i] == next);
        REQUIRE(layout.bucket_by_tensor[i] == static_cast<int64_t>(b));
        REQUIRE(parameters[i].is_matrix == bucket.is_matrix);
        REQUIRE(parameters[i].copies == bucket.copies);
        next += parameters[i].numel;
      }
      end = bucket.begin + bucket.size;
      REQUIRE((next <= end && end - next < num_slices));
      members += std::ssize(bucket.members);
    }
    REQUIRE(members == std::ssize(parameters));
    REQUIRE((layout.total >= end && layout.total - end < 8 * num_slices && layout.total % num_slices == 0));
    Numbers order = layout.reduce_order;
    std::sort(order.begin(), order.end());
    for (size_t b = 0; b < order.size(); ++b) REQUIRE(order[b] == static_cast<int64_t>(b));
    REQUIRE(order.size() == layout.buckets.size());
  }
}

TEST_CASE("a bucket is a sixteenth of the model, within bounds", "[train]") {
  CHECK(bucket_elements_for(1000) == 65536);
  CHECK(bucket_elements_for(32 << 20) == 2 << 20);
  CHECK(bucket_elements_for(int64_t{7} << 30) == 40 << 20);
}

}  // namespace roll
