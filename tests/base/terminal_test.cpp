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

TEST_CASE("text that is shown as it stands does nothing to a terminal", "[base]") {
  CHECK(without_controls("a\tb\nc é 日") == "a\tb\nc é 日");
  CHECK(without_controls("\x1b[2Ja\x07\r\x7f") == "·[2Ja···");
  CHECK(without_controls("\xc2\x9b"
                         "31m") == "·31m");   // CSI as one character
  CHECK(without_controls("\xc2") == "\xc2");  // the beginning of some character
}

}  // namespace roll
