// Amounts of memory as people write them.
#pragma once

#include <cstdint>
#include <string>

namespace roll {

/// "200KB", "1.5GB", "64MiB", "4096": powers of 1000, or of 1024 with an i. UserError "origin = text: ..." otherwise or
/// below one byte.
int64_t parse_bytes(const std::string& text, const std::string& origin);

}  // namespace roll
