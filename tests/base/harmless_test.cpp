#include "base/harmless.h"

#include <catch2/catch.hpp>

namespace roll {

TEST_CASE("what would command a terminal is written as its bytes, and what people write stays", "[base]") {
  CHECK(harmless(std::string_view("a\0b", 3)) == "a\\x00b");
  CHECK(harmless("no\x1b[31mde\x7f") == "no\\x1b[31mde\\x7f");
  CHECK(harmless("over\rwritten") == "over\\x0dwritten");
  CHECK(harmless("\xc2\x9b") == "\\xc2\\x9b");  // CSI as one character
  CHECK(harmless("\xe2\x80\xae\xe2\x81\xa7") == "\\xe2\\x80\\xae\\xe2\\x81\\xa7");
  CHECK(harmless("\xe9z\x9d") == "\\xe9z\\x9d");
  for (const char* text : {"a\n\tb\n  ^", "\xc3\xa9 \xe2\x82\xac \xe2\x80\x9c \xf0\x9f\x98\x80", "\xc2\xa0"})
    CHECK(harmless(text) == text);
  CHECK(harmless(harmless("\x1b\xff\xe2\x80\xae")) == harmless("\x1b\xff\xe2\x80\xae"));
}

TEST_CASE("each character that is harmful is, and none beside it", "[base]") {
  const std::pair<char32_t, char32_t> blocks[] = {{0, 0x1F},        {0x7F, 0x9F},     {0x61C, 0x61C},
                                                  {0x200E, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F},
                                                  {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE0FFF}};
  for (const auto& [first, last] : blocks) {
    CHECK((is_harmful(first) && is_harmful(last)));
    CHECK_FALSE(is_harmful(last + 1));
    if (first > 0) CHECK_FALSE(is_harmful(first - 1));
  }
}

TEST_CASE("a text on one line has no line ends", "[base]") {
  CHECK(on_one_line("a\r\n\tb\x1b]52;c;x\x07\xe2\x80\xae\xe2\x80\xa8\xff") == "a↵ b·]52;c;x···?");
}

TEST_CASE("pieces may end within a character, and say the same as the whole", "[base]") {
  const std::string text = "é €\x1b😀\xe2\x80\xae\xff\xf0\x9f z\xc2\x9b\n";
  for (size_t size = 1; size <= text.size(); ++size) {
    HarmlessPieces pieces;
    std::string shown;
    for (size_t at = 0; at < text.size(); at += size) shown += pieces.next(std::string_view(text).substr(at, size));
    CHECK(shown == harmless(text));
  }
}

}  // namespace roll
