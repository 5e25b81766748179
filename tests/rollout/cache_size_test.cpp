#include "rollout/cache_size.h"

#include <catch2/catch.hpp>

namespace roll {

TEST_CASE("the cache takes its share of what the steps leave unused", "[rollout]") {
  CHECK(cache_bytes({.free = 1000, .kept = 0}, 200, 0.5) == 400);
  CHECK(cache_bytes({.free = 1000, .kept = 600}, 200, 0.5) == 700);  // what the allocator keeps counts
}

TEST_CASE("the cache is no larger than what is free in one piece, and no GPU's memory is no limit", "[rollout]") {
  CHECK(cache_bytes({.free = 100, .kept = 900}, 0, 0.8) == 95);
  CHECK(cache_bytes({.free = 10, .kept = 0}, 200, 0.8) == 1);  // an error says that this is too little for a sequence
  CHECK(cache_bytes({}, 0, 0.8) == 0);
}

}  // namespace roll
