// Amounts of memory as people write them, and a hash of bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace roll {

/// "200KB", "1.5GB", "64MiB", "4096": powers of 1000, or of 1024 with an i. UserError "origin = text: ..." otherwise or
/// below one byte.
int64_t parse_bytes(const std::string& text, const std::string& origin);

/// FNV-1a, 64 bits: names a domain's random numbers and recognises changed data; not a cryptographic hash.
uint64_t fnv1a(std::string_view bytes, uint64_t hash = 0xcbf29ce484222325);

}  // namespace roll
