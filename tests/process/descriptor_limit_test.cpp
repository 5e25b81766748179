#include "process/descriptor_limit.h"

#include <sys/resource.h>

#include <catch2/catch.hpp>

#include "base/error.h"

namespace roll {

TEST_CASE("descriptors that will be needed are asked for as far as the hard limit goes", "[base]") {
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit low{128, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &low) == 0);
  require_descriptors(1, "few");
  rlimit now{};
  getrlimit(RLIMIT_NOFILE, &now);
  CHECK(now.rlim_cur == 128);
  require_descriptors(200, "some");
  getrlimit(RLIMIT_NOFILE, &now);
  CHECK(now.rlim_cur > 264);
  CHECK(now.rlim_cur < 1000);
  CHECK(now.rlim_max == before.rlim_max);
  setrlimit(RLIMIT_NOFILE, &before);
  CHECK_THROWS_WITH(require_descriptors(int64_t{1} << 40, "world_size = 9"),
                    Catch::StartsWith("world_size = 9: 1099511627840 file descriptors are needed beside ") &&
                        Catch::Contains("RLIMIT_NOFILE allows this process ") && Catch::Contains("ulimit -Hn"));
}

}  // namespace roll
