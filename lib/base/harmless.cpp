#include "base/harmless.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/utf8.h"

namespace roll {

namespace {

struct HarmfulBlock {
  char32_t first, last;
};
constexpr std::array<HarmfulBlock, 9> kHarmful = {{{0, 0x1F},             // escape sequences begin with one of these,
                                                   {0x7F, 0x9F},          // or with one of these
                                                   {0x061C, 0x061C},      // Arabic letter mark
                                                   {0x200E, 0x200F},      // direction marks
                                                   {0x2028, 0x202E},      // line separators; direction overrides
                                                   {0x2060, 0x206F},      // invisible characters; direction isolates
                                                   {0xFEFF, 0xFEFF},      // byte-order mark
                                                   {0xFFF9, 0xFFFB},      // invisible annotations
                                                   {0xE0000, 0xE0FFF}}};  // tags: invisible text

/// Returns how many bytes at the end form an incomplete character.
size_t incomplete_bytes(std::string_view text) {
  for (size_t count = 1; count <= std::min<size_t>(3, text.size()); ++count) {
    const auto lead = static_cast<unsigned char>(text[text.size() - count]);
    if ((lead & 0xC0) == 0x80) continue;
    const size_t full_size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
    return full_size > count ? count : 0;
  }
  return 0;
}

}  // namespace

bool is_harmful(char32_t c) {
  return std::ranges::any_of(kHarmful, [c](HarmfulBlock block) { return block.first <= c && c <= block.last; });
}

std::string harmless(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = first_code_point(text.substr(at));
    const std::string_view character = text.substr(at, c.bytes);
    at += c.bytes;
    if (c.is_sound && (c.value == '\n' || c.value == '\t' || !is_harmful(c.value)))
      shown += character;
    else
      for (const char byte : character) shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  }
  return shown;
}

std::string on_one_line(std::string_view text) {
  std::string line;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = first_code_point(text.substr(at));
    if (!c.is_sound)
      line += '?';
    else if (c.value == '\n')
      line += "↵";
    else if (is_harmful(c.value))
      line += c.value == '\t' ? " " : c.value == '\r' ? "" : "·";
    else
      line += text.substr(at, c.bytes);
    at += c.bytes;
  }
  return line;
}

std::string HarmlessPieces::next(std::string_view piece) {
  std::string text = std::exchange(incomplete_, "") + std::string(piece);
  const size_t complete_size = text.size() - incomplete_bytes(text);
  incomplete_ = text.substr(complete_size);
  text.resize(complete_size);
  return harmless(text);
}

}  // namespace roll
