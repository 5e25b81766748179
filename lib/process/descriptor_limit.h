// How many file descriptors this process may have (RLIMIT_NOFILE).
#pragma once

#include <cstdint>
#include <string>

namespace roll {

/// From now on it may have so many beside those that are open. UserError, which `who` opens: the hard limit forbids it.
void require_descriptors(int64_t count, const std::string& who);

}  // namespace roll
