#include <catch2/catch.hpp>

#include "base/error.h"
#include "dist/config.h"

namespace roll {

TEST_CASE("device mappings are ROLL's expressions, parsed and not evaluated", "[config]") {
  using Devices = std::vector<int64_t>;
  CHECK(parse_device_mapping("list(range(0,8))").devices == Devices{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(parse_device_mapping(" list( range( 2 ) ) ").devices == Devices{0, 1});
  CHECK(parse_device_mapping("range(1,8,3)").devices == Devices{1, 4, 7});
  CHECK(parse_device_mapping("[0, 2, 5,]").devices == Devices{0, 2, 5});
  CHECK(parse_device_mapping("list([0, 1,8])").devices == Devices{0, 1, 8});
  CHECK(parse_device_mapping("list(range(0,2)) + [4] + list(range(6,8))").devices == Devices{0, 1, 4, 6, 7});
  for (const char* wrong : {"", "8", "list(range(0,8)", "[0,1", "[0;1]", "[]", "[0,0]", "[-1]", "[65536]",
                            "range(0,8,0)", "range(0,8,-1)", "list(range(0,99999999))", "list([0)", "list(list([0]))",
                            "list[0]", "[0]+", "__import__('os')", "[1] [2]", "range(0,8,9223372036854775807) x"})
    CHECK_THROWS_AS(parse_device_mapping(wrong), UserError);
}

TEST_CASE("a device mapping reads back from its text", "[config]") {
  for (const char* text : {"list(range(0,8))", "[0,2,5]", "[3]", "list(range(4,6))", "[1,0]"})
    CHECK(to_config_text(parse_device_mapping(text)) == text);
}

}  // namespace roll
