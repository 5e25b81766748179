#include "preview/lengths.h"

#include <catch2/catch.hpp>
#include <numeric>

namespace roll {

TEST_CASE("percentiles are nearest ranks", "[preview]") {
  std::vector<int64_t> lengths(200);
  std::iota(lengths.rbegin(), lengths.rend(), 1);  // in any order
  CHECK(to_text(summarise_lengths(lengths)) == "p50 100, p90 180, p99 198, max 200");
  CHECK(to_text(summarise_lengths({7})) == "p50 7, p90 7, p99 7, max 7");
  CHECK(to_text(summarise_lengths({1, 2, 3})) == "p50 2, p90 3, p99 3, max 3");
  CHECK(to_text(summarise_lengths({})) == "p50 0, p90 0, p99 0, max 0");
}

}  // namespace roll
