#include "data/row_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

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
Descriptor open_temporary() {
  std::string name = temporary_folder() + "/roll-rows-XXXXXX";
  Descriptor file(::mkostemp(name.data(), O_CLOEXEC));
  if (!file) throw system_error("{}: cannot be made{}; {}", name, errno_text(), kRemedy);
  ::unlink(name.c_str());
  return file;
}

/// The number of tokens, the tokens, all in 4 bytes, and the rest.
std::string bytes_of(const Row& row) {
  std::vector<int32_t> tokens{static_cast<int32_t>(row.prompt_ids.size())};
  tokens.insert(tokens.end(), row.prompt_ids.begin(), row.prompt_ids.end());
  return std::string(reinterpret_cast<const char*>(tokens.data()), tokens.size() * sizeof(int32_t)) +
         encode_message(row);
}

Row row_of(std::string_view bytes) {
  int32_t count = 0;
  std::memcpy(&count, bytes.data(), sizeof count);
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  std::memcpy(tokens.data(), bytes.data() + sizeof count, tokens.size() * sizeof(int32_t));
  Row row = decode_message<Row>(bytes.substr((tokens.size() + 1) * sizeof(int32_t)));
  row.prompt_ids.assign(tokens.begin(), tokens.end());
  return row;
}

}  // namespace

RowStore::RowStore(const std::vector<Row>& rows) : RowStore() {
  for (const Row& row : rows) add(row);
}

void RowStore::add(const Row& row) {
  const std::string bytes = bytes_of(row);
  write(bytes);
  Domain& domain = domains_.try_emplace(row.domain, Domain{{}, fnv1a(""), {}}).first->second;
  domain.rows.push_back(size());
  domain.difficulties.push_back(row.difficulty);
  domain.fingerprint = fnv1a(row.id, domain.fingerprint);
  domain.fingerprint =
      fnv1a({reinterpret_cast<const char*>(row.prompt_ids.data()), row.prompt_ids.size() * sizeof(int64_t)},
            domain.fingerprint);
  ends_.push_back((ends_.empty() ? 0 : ends_.back()) + std::ssize(bytes));
}

void RowStore::write(const std::string& bytes) {
  if (!file_ && std::ssize(memory_) + std::ssize(bytes) <= bytes_in_memory_) {
    memory_ += bytes;
    return;
  }
  if (!file_) file_ = open_temporary();
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t count = ::write(file_.get(), bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0)
      throw system_error("{}: row {} cannot be kept there{}; {}", temporary_folder(), size(), errno_text(), kRemedy);
    done += static_cast<size_t>(count);
  }
}

Row RowStore::at(int64_t index) const {
  const int64_t begin = index == 0 ? 0 : ends_[index - 1], end = ends_[index], in_memory = std::ssize(memory_);
  if (end <= in_memory) return row_of(std::string_view(memory_).substr(begin, end - begin));
  std::string bytes(end - begin, '\0');
  for (int64_t done = 0; done < end - begin;) {
    const ssize_t count = ::pread(file_.get(), bytes.data() + done, bytes.size() - done, begin - in_memory + done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw system_error("row {}: cannot be read again{}", index, errno_text());
    done += count;
  }
  return row_of(bytes);
}

}  // namespace roll
