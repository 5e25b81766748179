#include "base/utf8.h"

#include <catch2/catch.hpp>

namespace roll {

TEST_CASE("a text is cut between characters", "[base]") {
  const std::string_view text = "a\xc3\xa9\xf0\x9f\x98\x80z";  // of 1, 2, 4 and 1 bytes
  const size_t ends[] = {0, 1, 1, 3, 3, 3, 3, 7, 8, 8};
  for (size_t most = 0; most <= 9; ++most) CHECK(whole_characters(text, most).size() == ends[most]);
  const size_t begins[] = {0, 1, 3, 3, 7, 7, 7, 7, 8, 8};
  for (size_t from = 0; from <= 9; ++from) CHECK(next_character(text, from) == begins[from]);
  CHECK(num_characters(text) == 4);
}

TEST_CASE("bytes that are no UTF-8 are cut somewhere", "[base]") {
  CHECK(whole_characters("\x80\x80\x80", 2).empty());
  CHECK(whole_characters(std::string_view("x\x80").substr(0, 1), 1) == "x");  // what lies behind a view is not read
  CHECK(next_character("\x80\x80", 0) == 2);
  CHECK(num_characters("\xff\x80") == 1);
}

TEST_CASE("a character's bytes are known, and those of none", "[base]") {
  CHECK(character_bytes("az") == 1);
  CHECK(character_bytes("\xc3\xa9z") == 2);
  CHECK(character_bytes("\xe2\x82\xacz") == 3);
  CHECK(character_bytes("\xf0\x9f\x98\x80z") == 4);
  for (const char* wrong :
       {"", "\x80", "\xff", "\xc3", "\xc3z", "\xc0\xaf", "\xe0\x80\x80", "\xf0\x80\x80\x80", "\xf5z"})
    CHECK(character_bytes(wrong) == 0);
}

TEST_CASE("what would command a terminal is written as its bytes, and what people write stays", "[base]") {
  CHECK(escaped(std::string_view("a\0b", 3)) == "a\\x00b");
  CHECK(escaped("no\x1b[31mde\x7f") == "no\\x1b[31mde\\x7f");
  CHECK(escaped("\xc2\x9b") == "\\xc2\\x9b");
  CHECK(escaped("\xe2\x80\xae\xe2\x81\xa7") == "\\xe2\\x80\\xae\\xe2\\x81\\xa7");
  CHECK(escaped("\xe9z") == "\\xe9z");
  for (const char* harmless : {"a\n\tb\n  ^", "\xc3\xa9 \xe2\x82\xac \xe2\x80\x9c \xf0\x9f\x98\x80", "\xc2\xa0"})
    CHECK(escaped(harmless) == harmless);
}

}  // namespace roll
