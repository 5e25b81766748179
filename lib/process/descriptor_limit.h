// Raises this process's limit of open file descriptors (RLIMIT_NOFILE), for environments that start many programs.
#pragma once

#include <cstdint>
#include <string>

namespace roll {

/// Ensures that `count` more descriptors can be opened beside those open now (and 64 for other code). Raises the soft
/// limit if necessary. Throws UserError, with a message that begins with `purpose`, if the hard limit is too low.
void require_descriptors(int64_t count, const std::string& purpose);

}  // namespace roll
