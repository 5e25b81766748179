#include "process/descriptor_limit.h"

#include <sys/resource.h>

#include <iterator>

#include "base/error.h"
#include "base/file.h"

namespace roll {

namespace {
constexpr int64_t kOthers = 64;  // reserve for files, sockets and pipes of other code
}

void require_descriptors(int64_t count, const std::string& who) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) throw system_error("getrlimit{}", errno_text());
  const auto num_open = std::ssize(list_folder("/proc/self/fd"));
  const auto wanted = static_cast<rlim_t>(num_open + count + kOthers);
  if (limit.rlim_cur >= wanted) return;
  if (limit.rlim_max < wanted)
    throw user_error(
        "{}: {} file descriptors are needed beside {} that are open, and RLIMIT_NOFILE allows this process {} at most; "
        "raise the hard limit (ulimit -Hn, LimitNOFILE= of a service, --ulimit nofile= of a container) or take fewer",
        who, count + kOthers, num_open, limit.rlim_max);
  limit.rlim_cur = wanted;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) throw system_error("setrlimit{}", errno_text());
}

}  // namespace roll
