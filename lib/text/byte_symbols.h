// GPT-2's spelling of bytes as printable characters, in which byte-level vocabularies are written: "Ġthe" is " the".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace roll {

/// The character (UTF-8) that stands for a byte: itself where printable in Latin-1, else U+0100 and up in byte order.
std::string byte_symbol(unsigned char byte);

/// The bytes that `spelling` stands for; empty when a character of it stands for no byte.
std::optional<std::string> unspell_bytes(std::string_view spelling);

}  // namespace roll
