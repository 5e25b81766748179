// Parses memory sizes as people write them ("1.5GB"), and hashes bytes (FNV-1a).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace roll {

/// Returns the bytes in "200KB", "1.5GB", "64MiB" or "4096": KB, MB, GB and TB are powers of 1000, KiB to TiB of 1024.
/// `origin` names the flag or key in the error. Throws UserError "origin = text: ..." if the text is no such size, or
/// less than one byte.
int64_t parse_bytes(const std::string& text, const std::string& origin);

/// Returns the 64-bit FNV-1a hash of `bytes`, which is not cryptographic. To hash several texts as one, pass the hash
/// of the earlier ones as `hash`; the default is FNV's initial value.
uint64_t fnv1a(std::string_view bytes, uint64_t hash = 0xcbf29ce484222325);

}  // namespace roll
