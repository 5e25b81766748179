// GPT-2's mapping of bytes to printable characters, used in byte-level vocabularies: "Ġthe" is " the".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace roll {

/// Returns the character (as UTF-8) for a byte: the byte's Latin-1 character if that is printable; the other bytes, in
/// ascending order, get U+0100 and up.
std::string byte_symbol(unsigned char byte);

/// Returns the bytes whose symbols make up `spelling`; nullopt if a character is no byte's symbol.
std::optional<std::string> unspell_bytes(std::string_view spelling);

}  // namespace roll
