#include "data/row_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/bytes.h"
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

/// A file without a name.
int open_temporary() {
  std::string name = temporary_folder() + "/roll-rows-XXXXXX";
  const int file = ::mkostemp(name.data(), O_CLOEXEC);
  if (file < 0) throw system_error("{}: cannot be made{}; {}", name, errno_text(), kRemedy);
  ::unlink(name.c_str());
  return file;
}

}  // namespace

RowStore::RowStore(const std::vector<Row>& rows) : RowStore() {
  for (const Row& row : rows) add(row);
}

RowStore::RowStore(RowStore&& other) noexcept
    : bytes_in_memory_(other.bytes_in_memory_),
      ends_(std::move(other.ends_)),
      memory_(std::move(other.memory_)),
      file_(std::exchange(other.file_, -1)),
      domains_(std::move(other.domains_)) {}

RowStore::~RowStore() {
  if (file_ >= 0) ::close(file_);
}

void RowStore::add(const Row& row) {
  const std::string bytes = encode_message(row);
  write(bytes);
  Domain& domain = domains_.try_emplace(row.domain, Domain{{}, fnv1a("")}).first->second;
  domain.rows.push_back(size());
  domain.fingerprint = fnv1a(row.id, domain.fingerprint);
  domain.fingerprint =
      fnv1a({reinterpret_cast<const char*>(row.prompt_ids.data()), row.prompt_ids.size() * sizeof(int64_t)},
            domain.fingerprint);
  ends_.push_back((ends_.empty() ? 0 : ends_.back()) + std::ssize(bytes));
}

void RowStore::write(const std::string& bytes) {
  if (file_ < 0 && std::ssize(memory_) + std::ssize(bytes) <= bytes_in_memory_) {
    memory_ += bytes;
    return;
  }
  if (file_ < 0) file_ = open_temporary();
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t count = ::write(file_, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0)
      throw system_error("{}: row {} cannot be kept there{}; {}", temporary_folder(), size(), errno_text(), kRemedy);
    done += static_cast<size_t>(count);
  }
}

Row RowStore::at(int64_t index) const {
  const int64_t begin = index == 0 ? 0 : ends_[index - 1], end = ends_[index], in_memory = std::ssize(memory_);
  if (end <= in_memory) return decode_message<Row>(std::string_view(memory_).substr(begin, end - begin));
  std::string bytes(end - begin, '\0');
  for (int64_t done = 0; done < end - begin;) {
    const ssize_t count = ::pread(file_, bytes.data() + done, bytes.size() - done, begin - in_memory + done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw system_error("row {}: cannot be read again{}", index, errno_text());
    done += count;
  }
  return decode_message<Row>(bytes);
}

}  // namespace roll
