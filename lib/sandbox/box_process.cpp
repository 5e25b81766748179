#include "sandbox/box_process.h"

#include <linux/capability.h>
#include <sys/socket.h>

#include <array>

#include "base/error.h"
#include "base/file.h"
#include "sandbox/box_entry.h"

namespace roll {

namespace {
constexpr rlim_t kStackBytes = 64 << 20;  // programs under test may recurse deeply
}  // namespace

BoxProcess start_box_process(const Interpreter& interpreter, const std::vector<std::string>& arguments,
                             bool is_isolated) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw system_error("cannot make a socket to the sandbox{}", errno_text());
  Descriptor control(ends[0]), child_control(ends[1]);
  BoxEntry entry{.is_isolated = is_isolated,
                 .words = {interpreter.program},
                 .variables = {"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "HOME=/tmp"},
                 .descriptors = {-1, -1, -1, child_control.get()},
                 .capabilities = 1U << CAP_SYS_ADMIN,
                 .limits = {{RLIMIT_STACK, kStackBytes}}};
  entry.words.insert(entry.words.end(), arguments.begin(), arguments.end());
  for (const std::string& folder : interpreter.folders)
    if (is_folder(folder)) entry.files.show(folder);
  entry.files.add_mount_points();
  // Keepers (python/zygote.py) read memory use from /proc. Without it, only each process's own memory is limited.
  entry.files.mount_proc();
  const pid_t pid = start_in_box(entry);
  return {pid, std::move(control)};
}

}  // namespace roll
