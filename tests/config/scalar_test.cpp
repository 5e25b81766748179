#include "config/scalar.h"

#include <catch2/catch.hpp>
#include <cmath>

namespace roll {

TEST_CASE("booleans are YAML 1.1's words in three casings", "[config]") {
  for (const char* yes : {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"})
    CHECK(parse_bool(yes) == true);
  for (const char* no : {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"})
    CHECK(parse_bool(no) == false);
  for (const char* neither : {"", "tRue", "y", "1", "0", "truely"}) CHECK_FALSE(parse_bool(neither).has_value());
}

TEST_CASE("whole numbers fit 64 bits exactly or are none", "[config]") {
  CHECK(parse_whole("42") == 42);
  CHECK(parse_whole("-7") == -7);
  CHECK(parse_whole("+7") == 7);
  CHECK(parse_whole("1_000_000") == 1000000);
  CHECK(parse_whole("0x1F") == 31);
  CHECK(parse_whole("9223372036854775807") == INT64_MAX);
  CHECK(parse_whole("-9223372036854775808") == INT64_MIN);
  for (const char* none : {"", "-", "+", "1.0", "1e3", "9223372036854775808", "-9223372036854775809", "_1", "1_", "0x",
                           "12a", " 1", "--1", "+-1"})
    CHECK_FALSE(parse_whole(none).has_value());
}

TEST_CASE("numbers are read as people write them", "[config]") {
  CHECK(parse_number("1e-6") == 1e-6);
  CHECK(parse_number("1.0E-6") == 1e-6);
  CHECK(parse_number(".5") == 0.5);
  CHECK(parse_number("5.") == 5.0);
  CHECK(parse_number("-.25") == -0.25);
  CHECK(parse_number("3") == 3.0);
  CHECK(std::isinf(*parse_number(".inf")));
  CHECK(*parse_number("-.Inf") < 0);
  CHECK(std::isnan(*parse_number(".nan")));
  CHECK(std::isinf(*parse_number("1e999")));
  CHECK(parse_number("1e-999") == 0.0);
  for (const char* none : {"", ".", "-", "e5", "1e", "1.2.3", "inf", "nan", "0.1f", "1,5", "- 1"})
    CHECK_FALSE(parse_number(none).has_value());
}

}  // namespace roll
