#include "base/terminal.h"

#include <catch2/catch.hpp>

namespace roll {

TEST_CASE("text is wrapped between words", "[base]") {
  using Lines = std::vector<std::string>;
  CHECK(wrapped("one two three", 7) == Lines{"one two", "three"});
  CHECK(wrapped("one two three", 8, "  ") == Lines{"one two", "  three"});
  CHECK(wrapped("ab abcdefghij cd", 5, " ") == Lines{"ab", " abcdefghij", " cd"});
  CHECK(wrapped("a   b", 9) == Lines{"a   b"});
  CHECK(wrapped("  a b", 4) == Lines{"  a", "b"});
  CHECK(wrapped("", 4) == Lines{""});
  CHECK(wrapped("日本 語", 5) == Lines{"日本", "語"});
}

TEST_CASE("what is shown in place of a harmful character takes one column", "[base]") {
  CHECK(display_width("a\xE2\x80\x8F\x1b") == 3);  // a mark of direction, which a terminal would not show
}

}  // namespace roll
