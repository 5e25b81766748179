#include "checkpoint/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/error.h"

namespace roll {

MappedFile::MappedFile(const std::string& file) {
  const Descriptor fd(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));  // opening a pipe must not block
  if (!fd) throw user_error("{}: cannot open{}", file, errno_text());
  struct stat info = {};
  const bool is_file = ::fstat(fd.get(), &info) == 0 && S_ISREG(info.st_mode);
  size_ = is_file ? static_cast<size_t>(info.st_size) : 0;
  // Private and writable: a tensor may be changed in memory, but never the file.
  if (size_ > 0) data_ = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd.get(), 0);
  if (!is_file) throw user_error("{}: not a regular file", file);
  if (data_ == MAP_FAILED) throw system_error("{}: cannot map {} bytes{}", file, size_, errno_text());
}

MappedFile::~MappedFile() {
  if (size_ > 0) ::munmap(data_, size_);
}

}  // namespace roll
