// Raises the limit of open file descriptors (RLIMIT_NOFILE), for environments that start many programs.
#pragma once

#include <cstdint>
#include <string>

namespace roll {

/// Ensures that `count` more descriptors can be opened beside those open now. UserError, starting with `purpose`: the
/// hard limit is too low.
void require_descriptors(int64_t count, const std::string& purpose);

}  // namespace roll
