#include "sandbox/box_keeper.h"

#include <signal.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <string>

#include "base/error.h"
#include "process/process_tree.h"

namespace roll {

namespace {

constexpr std::chrono::milliseconds kPause{100};

/// Writes without blocking: the reader may be waiting for us.
void write_note(const Descriptor& errors, std::string text) {
  const iovec part = {text.data(), text.size()};
  [[maybe_unused]] const ssize_t written = pwritev2(errors.get(), &part, 1, -1, RWF_NOWAIT);
}

int64_t shm_mb(pid_t root) {
  struct statvfs stats = {};
  if (statvfs(fmt::format("/proc/{}/root/dev/shm", root).c_str(), &stats) != 0) return 0;  // the process has ended
  return static_cast<int64_t>((stats.f_blocks - stats.f_bfree) * stats.f_frsize >> 20);
}

void watch_memory(const std::stop_token& stop, pid_t root, int64_t max_mb, const Descriptor& errors) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  while (!stopped.wait_for(lock, stop, kPause, [&] { return stop.stop_requested(); })) {
    const int64_t used_mb = resident_mb_below(root) + shm_mb(root);  // mapped files in /dev/shm count twice
    if (used_mb <= max_mb) continue;
    write_note(errors, fmt::format("the sandbox ends the program: it uses {} MiB of memory, and {} are allowed\n",
                                   used_mb, max_mb));
    kill(root, SIGKILL);
    return;
  }
}

}  // namespace

BoxKeeper::BoxKeeper(pid_t root, int64_t max_mb, Descriptor errors)
    : errors_(std::move(errors)),
      thread_([this, root, max_mb](const std::stop_token& stop) { watch_memory(stop, root, max_mb, errors_); }) {}

int64_t resident_mb_below(pid_t root) {
  int64_t pages = 0;
  for (const pid_t pid : processes_below(root)) {
    std::ifstream file(fmt::format("/proc/{}/statm", pid));
    int64_t size = 0, resident = 0;
    if (file >> size >> resident) pages += resident;
  }
  return pages * sysconf(_SC_PAGESIZE) >> 20;
}

}  // namespace roll
