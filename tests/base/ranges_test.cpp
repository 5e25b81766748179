#include "base/ranges.h"

#include <catch2/catch.hpp>

namespace roll {

TEST_CASE("ranges of numbers are short", "[base]") {
  CHECK(ranges_text({0}) == "0");
  CHECK(ranges_text({0, 1, 2, 5, 7, 8}) == "0 to 2, 5, 7 to 8");
}

}  // namespace roll
