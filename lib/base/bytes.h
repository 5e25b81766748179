// Amounts of memory as people write them, where a text may be cut, and a hash of bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace roll {

/// "200KB", "1.5GB", "64MiB", "4096": powers of 1000, or of 1024 with an i. UserError "origin = text: ..." otherwise or
/// below one byte.
int64_t parse_bytes(const std::string& text, const std::string& origin);

/// The longest beginning of at most `max_bytes` bytes that ends within no character of UTF-8.
std::string_view whole_characters(std::string_view text, size_t max_bytes);

/// FNV-1a, 64 bits: names a domain's random numbers and recognises changed data; not a cryptographic hash.
uint64_t fnv1a(std::string_view bytes, uint64_t hash = 0xcbf29ce484222325);

}  // namespace roll
