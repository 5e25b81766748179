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

}  // namespace roll
