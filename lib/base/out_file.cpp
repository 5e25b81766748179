#include "base/out_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace roll {

namespace {
constexpr size_t kBlockBytes = size_t{256} << 10;  // larger blocks evict training's data from the cache
constexpr size_t kAlignment = 4096;                // O_DIRECT's alignment of memory, offset and size on common disks
}  // namespace

struct OutFile::Block {
  alignas(kAlignment) std::array<char, kBlockBytes> bytes;
};

OutFile::OutFile(std::filesystem::path file)
    : file_(std::move(file)),
      fd_(::open(file_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)),
      block_(new Block) {
  if (!fd_) throw system_error("{}: cannot write{}", file_.string(), errno_text());
}

OutFile::~OutFile() = default;

void OutFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t taken = std::min(bytes.size(), kBlockBytes - filled_);
    std::memcpy(block_->bytes.data() + filled_, bytes.data(), taken);
    filled_ += taken;
    bytes.remove_prefix(taken);
    if (filled_ == kBlockBytes) flush();
  }
}

FileSum OutFile::finish() {
  flush();
  if (::fsync(fd_.get()) != 0) throw system_error("{}: fsync failed{}", file_.string(), errno_text());
  return sum_.sum();
}

/// A file system without O_DIRECT refuses it, here or at the write.
void OutFile::set_direct(bool direct) {
  if (direct == direct_) return;
  const int flags = ::fcntl(fd_.get(), F_GETFL);
  direct_ = ::fcntl(fd_.get(), F_SETFL, direct ? flags | O_DIRECT : flags & ~O_DIRECT) == 0 && direct;
}

void OutFile::flush() {
  std::string_view left(block_->bytes.data(), filled_);
  sum_.add(left);
  set_direct(filled_ == kBlockBytes);
  while (!left.empty()) {
    const ssize_t written = ::write(fd_.get(), left.data(), left.size());
    if (written >= 0) {
      left.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EINVAL && direct_) {
      set_direct(false);
    } else if (errno != EINTR) {
      throw system_error("{}: cannot write{}", file_.string(), errno_text());
    }
  }
  filled_ = 0;
}

}  // namespace roll
