// GPT-2's mapping of bytes to printable characters, used in byte-level vocabularies: "Ġthe" is " the".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace roll {

/// Returns the character (UTF-8) for a byte: itself if printable in Latin-1, else U+0100 and up in byte order.
std::string byte_symbol(unsigned char byte);

/// Returns the bytes of `spelling`; nullopt if a character maps to no byte.
std::optional<std::string> unspell_bytes(std::string_view spelling);

}  // namespace roll
