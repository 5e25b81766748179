// Owners of file descriptors: Descriptor closes its file descriptor in the destructor; Pipe holds both ends of a pipe.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <string_view>
#include <utility>

#include "base/error.h"

namespace roll {

/// Owns a file descriptor, or none (-1); can be moved, not copied.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { close(); }

  /// Returns the descriptor, which this object still owns; -1 if there is none.
  int get() const { return fd_; }
  /// Returns true if this object owns a descriptor.
  explicit operator bool() const { return fd_ >= 0; }
  /// Closes the descriptor now; does nothing if there is none.
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

/// A pipe that child programs do not inherit (close-on-exec).
struct Pipe {
  Descriptor read_end, write_end;
};
/// Creates a pipe. Throws SystemError, with a message that begins with `purpose`, if the system refuses.
inline Pipe make_pipe(std::string_view purpose) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw system_error("{}{}", purpose, errno_text());
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

}  // namespace roll
