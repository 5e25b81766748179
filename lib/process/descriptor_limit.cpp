#include "process/descriptor_limit.h"

#include <sys/resource.h>

#include <iterator>

#include "base/error.h"
#include "base/file.h"

namespace roll {

namespace {
constexpr int64_t kReserve = 64;  // reserve for files, sockets and pipes of other code
}

void require_descriptors(int64_t count, const std::string& purpose) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) throw system_error("getrlimit{}", errno_text());
  const auto num_open = std::ssize(list_folder("/proc/self/fd"));
  const auto needed = static_cast<rlim_t>(num_open + count + kReserve);
  if (limit.rlim_cur >= needed) return;
  if (limit.rlim_max < needed)
    throw user_error(
        "{}: {} file descriptors are needed beside {} that are open, but RLIMIT_NOFILE allows this process at most {}; "
        "raise the hard limit (ulimit -Hn, LimitNOFILE= of a service, --ulimit nofile= of a container) or use fewer",
        purpose, count + kReserve, num_open, limit.rlim_max);
  limit.rlim_cur = needed;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) throw system_error("setrlimit{}", errno_text());
}

}  // namespace roll
