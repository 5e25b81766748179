#include "text/byte_symbols.h"

#include <array>

#include "unicode/unicode.h"

namespace roll {

namespace {

constexpr bool is_printable(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
}

constexpr std::array<char32_t, 256> make_symbols() {
  std::array<char32_t, 256> symbols{};
  char32_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) symbols[byte] = is_printable(byte) ? static_cast<char32_t>(byte) : next++;
  return symbols;
}

constexpr std::array<char32_t, 256> kSymbols = make_symbols();
constexpr size_t kSymbolEnd = 0x100 + 68;  // 68 bytes are unprintable

constexpr std::array<int16_t, kSymbolEnd> make_bytes() {
  std::array<int16_t, kSymbolEnd> bytes{};
  bytes.fill(-1);
  for (int byte = 0; byte < 256; ++byte) bytes[kSymbols[byte]] = static_cast<int16_t>(byte);
  return bytes;
}

constexpr std::array<int16_t, kSymbolEnd> kBytes = make_bytes();

}  // namespace

std::string byte_symbol(unsigned char byte) {
  std::string out;
  append_utf8(out, kSymbols[byte]);
  return out;
}

std::optional<std::string> unspell_bytes(std::string_view spelling) {
  std::string out;
  for (size_t pos = 0; pos < spelling.size();) {
    const char32_t c = next_code_point(spelling, pos);
    if (c >= kSymbolEnd || kBytes[c] < 0) return {};
    out += static_cast<char>(kBytes[c]);
  }
  return out;
}

}  // namespace roll
