// Parses memory sizes as people write them ("1.5GB"), and hashes bytes (FNV-1a).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace roll {

/// Parses "200KB", "1.5GB", "64MiB" or "4096": powers of 1000, or of 1024 with an i. UserError "origin = text: ...":
/// not such a size, or below one byte.
int64_t parse_bytes(const std::string& text, const std::string& origin);

/// FNV-1a hash, 64 bits: keys a domain's random numbers and detects changed data. Not a cryptographic hash.
uint64_t fnv1a(std::string_view bytes, uint64_t hash = 0xcbf29ce484222325);

}  // namespace roll
