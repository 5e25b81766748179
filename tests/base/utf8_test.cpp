#include "base/utf8.h"

#include <catch2/catch.hpp>

#include <tuple>

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

TEST_CASE("halves of a character and numbers above all characters are none", "[base]") {
  CHECK(character_bytes("\xed\x9f\xbf") == 3);
  CHECK(character_bytes("\xed\xa0\x80") == 0);
  CHECK(character_bytes("\xf4\x8f\xbf\xbf") == 4);
  CHECK(character_bytes("\xf4\x90\x80\x80") == 0);
}

TEST_CASE("a character has its number", "[base]") {
  for (const auto& [text, value, bytes] : {std::tuple{"az", U'a', 1},
                                           {"\xc3\xa9z", U'é', 2},
                                           {"\xe2\x82\xacz", U'€', 3},
                                           {"\xf0\x9f\x98\x80z", U'😀', 4}}) {
    const CodePoint c = first_code_point(text);
    CHECK((c.value == value && c.bytes == static_cast<size_t>(bytes) && c.is_sound));
  }
  CHECK_FALSE(first_code_point("\xc3z").is_sound);
  CHECK(first_code_point("\xc3z").bytes == 1);
}

}  // namespace roll
