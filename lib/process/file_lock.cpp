#include "process/file_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/clock.h"
#include "base/error.h"

namespace roll {

namespace {

constexpr useconds_t kRetryPause_us = 50'000;

std::string describe_holder() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return fmt::format("process {} on {}, since {}\n", ::getpid(), host.data(), local_time_text("%Y-%m-%d %H:%M:%S"));
}

std::string read_first_line(int fd) {
  std::array<char, 512> bytes{};
  const ssize_t size = ::pread(fd, bytes.data(), bytes.size(), 0);
  std::string text(bytes.data(), size > 0 ? static_cast<size_t>(size) : 0);
  return text.substr(0, text.find('\n'));
}

}  // namespace

std::unique_ptr<FileLock> FileLock::take(const std::filesystem::path& file, double patience_s, std::string& holder) {
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) throw system_error("{}: cannot create the lock{}", file.string(), errno_text());
  std::unique_ptr<FileLock> lock(new FileLock(fd, std::filesystem::absolute(file)));
  const Stopwatch watch;
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == ENOSYS || errno == EOPNOTSUPP) break;  // file system without locks: go on, the file still names us
    if (errno != EWOULDBLOCK && errno != EINTR)
      throw system_error("{}: cannot be locked{}", file.string(), errno_text());
    if (watch.seconds() > patience_s) {
      holder = read_first_line(fd);
      return nullptr;
    }
    ::usleep(kRetryPause_us);
  }
  const std::string text = describe_holder();
  if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    throw system_error("{}: cannot write{}", file.string(), errno_text());
  return lock;
}

bool FileLock::is_in_place() const {
  struct stat locked_file {
  }, current_file{};
  if (::fstat(fd_.get(), &locked_file) != 0 || ::stat(file_.c_str(), &current_file) != 0) return false;
  return locked_file.st_dev == current_file.st_dev && locked_file.st_ino == current_file.st_ino;
}

bool FileLock::is_held(const std::filesystem::path& file) {
  const Descriptor fd(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  // A shared lock, held for an instant: take() in another process retries.
  return fd && ::flock(fd.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

}  // namespace roll
