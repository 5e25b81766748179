#include "data/spilled_bytes.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.h"

namespace roll {

namespace {

constexpr const char* kRemedy = "set TMPDIR to a folder with room for the rows";

std::string temporary_folder() {
  std::error_code ec;
  const auto folder = std::filesystem::temp_directory_path(ec);
  if (ec) throw system_error("TMPDIR = {}: cannot be used ({}); {}", folder.string(), ec.message(), kRemedy);
  return folder;
}

/// Creates an unlinked temporary file.
Descriptor open_temporary() {
  std::string name = temporary_folder() + "/roll-rows-XXXXXX";
  Descriptor file(::mkostemp(name.data(), O_CLOEXEC));
  if (!file) throw system_error("{}: cannot be created{}; {}", name, errno_text(), kRemedy);
  ::unlink(name.c_str());
  return file;
}

}  // namespace

void SpilledBytes::add(std::string_view bytes) {
  write(bytes);
  ends_.push_back((ends_.empty() ? 0 : ends_.back()) + std::ssize(bytes));
}

void SpilledBytes::write(std::string_view bytes) {
  if (!file_ && std::ssize(memory_) + std::ssize(bytes) <= bytes_in_memory_) {
    memory_ += bytes;
    return;
  }
  if (!file_) file_ = open_temporary();
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t count = ::write(file_.get(), bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0)
      throw system_error("{}: row {} cannot be stored there{}; {}", temporary_folder(), size(), errno_text(), kRemedy);
    done += static_cast<size_t>(count);
  }
}

std::string SpilledBytes::at(int64_t index) const {
  const int64_t begin = index == 0 ? 0 : ends_[index - 1], end = ends_[index], in_memory = std::ssize(memory_);
  if (end <= in_memory) return memory_.substr(begin, end - begin);
  std::string bytes(end - begin, '\0');
  for (int64_t done = 0; done < end - begin;) {
    const ssize_t count = ::pread(file_.get(), bytes.data() + done, bytes.size() - done, begin - in_memory + done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw system_error("row {}: cannot be read again{}", index, errno_text());
    done += count;
  }
  return bytes;
}

}  // namespace roll
