// What the fuzzers share. Each tries one parser: it takes an input or throws UserError; everything else, from an
// exception of another type to a read beyond a buffer, ends the fuzzer, which keeps the input.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace roll::fuzz {

template <class Work>
void allow_refusal(const Work& work) {
  try {
    work();
  } catch (const UserError&) {
  }
}

/// The input up to the first newline, and what follows it.
struct TwoParts {
  std::string_view first, rest;
};
inline TwoParts two_parts(std::string_view input) {
  const size_t end = input.find('\n');
  if (end == std::string_view::npos) return {input, {}};
  return {input.substr(0, end), input.substr(end + 1)};
}

/// The input as a file, for parsers that open one.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : fd_(::memfd_create("input", 0)) {
    if (fd_ < 0 || ::write(fd_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) __builtin_trap();
  }
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

}  // namespace roll::fuzz

/// FUZZ(input) { ... } makes a fuzzer of a parser.
#define FUZZ(input)                                                         \
  static void fuzz_one(std::string_view input);                             \
  extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) { \
    fuzz_one({reinterpret_cast<const char*>(data), size});                  \
    return 0;                                                               \
  }                                                                         \
  static void fuzz_one(std::string_view input)
