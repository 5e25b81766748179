#include "base/console.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <iostream>

#include "base/error.h"
#include "base/harmless.h"

namespace roll {

namespace {

/// Returns true if all was written. mpirun may make a descriptor that we share with it non-blocking.
bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno != EINTR && errno != EAGAIN) return false;
    pollfd writable{.fd = fd, .events = POLLOUT, .revents = 0};
    if (written < 0) ::poll(&writable, 1, -1);
    text.remove_prefix(static_cast<size_t>(std::max<ssize_t>(0, written)));
  }
  return true;
}

struct GuardedFile {
  int fd;
  HarmlessPieces pieces{};
};

ssize_t write_guarded(void* cookie, const char* bytes, size_t count) {
  auto& file = *static_cast<GuardedFile*>(cookie);
  return write_all(file.fd, file.pieces.next({bytes, count})) ? static_cast<ssize_t>(count) : 0;
}

/// Returns a file that replaces one of stdio's for the life of the process.
std::FILE* make_guarded_file(int fd, int mode) {
  std::FILE* file = ::fopencookie(new GuardedFile{fd}, "w", {nullptr, write_guarded, nullptr, nullptr});
  if (!file) throw system_error("fopencookie{}", errno_text());
  std::setvbuf(file, nullptr, mode, BUFSIZ);
  return file;
}

/// Stream buffer that writes into a guarded file.
class GuardedBuffer : public std::streambuf {
 public:
  GuardedBuffer(std::FILE* file, int fd, std::streambuf* exact) : exact(exact), file_(file), fd_(fd) {}
  void write_codes(std::string_view codes) {
    std::fflush(file_);
    write_all(fd_, codes);
  }

  std::streambuf* const exact;  // bypasses the guard

 protected:
  std::streamsize xsputn(const char* bytes, std::streamsize count) override {
    return static_cast<std::streamsize>(std::fwrite(bytes, 1, static_cast<size_t>(count), file_));
  }
  int overflow(int c) override { return c == EOF ? 0 : std::fputc(c, file_); }
  int sync() override { return std::fflush(file_); }

 private:
  std::FILE* file_;
  int fd_;
};

}  // namespace

void guard_console() {
  std::ios::sync_with_stdio(false);  // the streams' own buffers would write past stdio
  stdout = make_guarded_file(STDOUT_FILENO, ::isatty(STDOUT_FILENO) == 1 ? _IOLBF : _IOFBF);
  stderr = make_guarded_file(STDERR_FILENO, _IONBF);
  // The buffers are never freed: streams are flushed once more after all destructors have run.
  std::cout.rdbuf(new GuardedBuffer(stdout, STDOUT_FILENO, std::cout.rdbuf()));
  std::cerr.rdbuf(new GuardedBuffer(stderr, STDERR_FILENO, std::cerr.rdbuf()));
  std::clog.rdbuf(std::cerr.rdbuf());
}

void write_codes(std::ostream& out, std::string_view codes) {
  if (auto* const buffer = dynamic_cast<GuardedBuffer*>(out.rdbuf()))
    buffer->write_codes(codes);
  else
    out << codes;
}

std::streambuf* data_buffer() {
  auto* const buffer = dynamic_cast<GuardedBuffer*>(std::cout.rdbuf());
  return buffer && ::isatty(STDOUT_FILENO) == 0 ? buffer->exact : std::cout.rdbuf();
}

}  // namespace roll
