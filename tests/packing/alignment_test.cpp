#include "packing/alignment.h"

#include <catch2/catch.hpp>
#include <set>

#include "base/error.h"
#include "base/random.h"

namespace roll {

TEST_CASE("sequences are aligned to 2*CP*TP, to TP alone, or not at all", "[packing]") {
  CHECK(sequence_alignment(1, 1) == 1);
  CHECK(sequence_alignment(1, 4) == 4);
  CHECK(sequence_alignment(2, 1) == 4);
  CHECK(sequence_alignment(2, 3) == 12);
  CHECK(sequence_alignment(2, 3, 16) == 48);
  CHECK(sequence_alignment(1, 1, 16) == 16);
  CHECK(aligned_length(0, 4) == 0);
  CHECK(aligned_length(4, 4) == 4);
  CHECK(aligned_length(5, 4) == 8);
}

TEST_CASE("context parallel ranks hold the known zigzag slices", "[packing]") {
  const std::vector<int64_t> lengths{2, 4, 6, 1};
  const std::vector<int64_t> sequence{0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3};
  const auto sequences_of = [&](int64_t rank) {
    std::vector<int64_t> result;
    for (const int64_t t : context_parallel_slots(lengths, 4, 2, rank)) result.push_back(t < 0 ? -1 : sequence[t]);
    return result;
  };
  CHECK(sequences_of(0) == std::vector<int64_t>{0, -1, 1, 1, 2, 2, -1, -1, 3, -1});
  CHECK(sequences_of(1) == std::vector<int64_t>{0, -1, 1, 1, 2, 2, 2, 2, -1, -1});
  CHECK(cumulative(aligned_lengths(lengths, 4)) == std::vector<int64_t>{0, 4, 8, 16, 20});
  // The third sequence is p0 p1 | p2 p3 | p4 p5 | pad pad: rank 0 has its first and last chunk.
  CHECK(context_parallel_slots({6}, 4, 2, 0) == std::vector<int64_t>{0, 1, -1, -1});
  CHECK(context_parallel_slots({6}, 4, 2, 1) == std::vector<int64_t>{2, 3, 4, 5});
}

TEST_CASE("zigzag slices of all ranks hold every token once and cost about the same", "[packing]") {
  for (const int64_t cp : {1, 2, 4}) {
    const std::vector<int64_t> lengths{1, 64, 17, 3, 40};
    const int64_t alignment = sequence_alignment(cp, 2);
    std::multiset<int64_t> seen;
    for (int64_t rank = 0; rank < cp; ++rank)
      for (const int64_t t : context_parallel_slots(lengths, alignment, cp, rank))
        if (t >= 0) seen.insert(t);
    REQUIRE(seen.size() == 125);
    REQUIRE(std::set<int64_t>(seen.begin(), seen.end()).size() == 125);
    for (int64_t rank = 0; rank < cp; ++rank) {
      int64_t cost = 0;  // token t looks at t + 1 tokens
      for (const int64_t t : context_parallel_slots({64}, alignment, cp, rank)) cost += t + 1;
      CHECK(cost * cp == 64 * 65 / 2);
    }
  }
}

TEST_CASE("what the context parallel ranks computed comes back in the order of the packed axis", "[packing]") {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::vector<int64_t> lengths;
    for (uint64_t i = 0; i < 1 + seed % 9; ++i)
      lengths.push_back(1 + static_cast<int64_t>(40 * random_uniform({.seed = seed, .sequence = i})));
    const int64_t cp = 1 + static_cast<int64_t>(seed % 4), tp = 1 + static_cast<int64_t>(seed / 4 % 3);
    const int64_t alignment = sequence_alignment(cp, tp);
    std::vector<int64_t> gathered;
    for (int64_t rank = 0; rank < cp; ++rank) {
      const auto slots = context_parallel_slots(lengths, alignment, cp, rank);
      // A rank's own ranges are those of the padded sequences, divided by CP.
      REQUIRE(std::ssize(slots) * cp == cumulative(aligned_lengths(lengths, alignment)).back());
      gathered.insert(gathered.end(), slots.begin(), slots.end());
    }
    const auto places = context_parallel_places(lengths, alignment, cp);
    REQUIRE(std::ssize(places) == cumulative(lengths).back());
    for (size_t t = 0; t < places.size(); ++t) REQUIRE(gathered.at(places[t]) == static_cast<int64_t>(t));
  }
}

TEST_CASE("an alignment that the zigzag cannot cut is a bug", "[packing]") {
  CHECK_THROWS_AS(context_parallel_slots({6}, 2, 2, 0), Bug);
}

}  // namespace roll
