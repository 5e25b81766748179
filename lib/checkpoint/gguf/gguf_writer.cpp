#include "checkpoint/gguf/gguf_writer.h"

#include <limits>

#include "base/error.h"

namespace roll::gguf {

namespace {

constexpr uint32_t kCount = 4, kInteger = 5, kNumber = 6, kFlag = 7, kText = 8, kList = 9;
constexpr size_t kAlignment = 32;  // the usual value of general.alignment

template <class T>
void put(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_text(std::string& bytes, std::string_view text) {
  put<uint64_t>(bytes, text.size());
  bytes.append(text);
}

}  // namespace

void Metadata::begin(const std::string& key, uint32_t type) {
  put_text(bytes_, key);
  put(bytes_, type);
  ++num_keys_;
}

void Metadata::begin_list(const std::string& key, uint32_t type, size_t count) {
  begin(key, kList);
  put(bytes_, type);
  put<uint64_t>(bytes_, count);
}

void Metadata::text(const std::string& key, std::string_view value) {
  begin(key, kText);
  put_text(bytes_, value);
}

void Metadata::count(const std::string& key, int64_t value) {
  ROLL_CHECK(value >= 0 && value <= std::numeric_limits<uint32_t>::max(), key + " is a 32-bit count");
  begin(key, kCount);
  put(bytes_, static_cast<uint32_t>(value));
}

void Metadata::number(const std::string& key, double value) {
  begin(key, kNumber);
  put(bytes_, static_cast<float>(value));
}

void Metadata::flag(const std::string& key, bool value) {
  begin(key, kFlag);
  put<uint8_t>(bytes_, value);
}

void Metadata::texts(const std::string& key, const std::vector<std::string>& values) {
  begin_list(key, kText, values.size());
  for (const std::string& value : values) put_text(bytes_, value);
}

void Metadata::numbers(const std::string& key, const std::vector<float>& values) {
  begin_list(key, kNumber, values.size());
  for (const float value : values) put(bytes_, value);
}

void Metadata::integers(const std::string& key, const std::vector<int32_t>& values) {
  begin_list(key, kInteger, values.size());
  for (const int32_t value : values) put(bytes_, value);
}

void Metadata::flags(const std::string& key, const std::vector<bool>& values) {
  begin_list(key, kFlag, values.size());
  for (const bool value : values) put<uint8_t>(bytes_, value);
}

size_t NewTensor::num_bytes() const {
  auto blocks = static_cast<size_t>(shape.back() / format->block_size);
  for (size_t i = 0; i + 1 < shape.size(); ++i) blocks *= static_cast<size_t>(shape[i]);
  return blocks * static_cast<size_t>(format->block_bytes);
}

std::string padding_behind(size_t num_bytes) {
  return std::string((kAlignment - num_bytes % kAlignment) % kAlignment, '\0');
}

std::string file_head(const Metadata& metadata, const std::vector<NewTensor>& tensors) {
  std::string head = "GGUF";
  put<uint32_t>(head, 3);
  put<uint64_t>(head, tensors.size());
  put<uint64_t>(head, metadata.num_keys());
  head += metadata.bytes();
  uint64_t offset = 0;
  for (const NewTensor& tensor : tensors) {
    put_text(head, tensor.name);
    put(head, static_cast<uint32_t>(tensor.shape.size()));
    for (auto size = tensor.shape.rbegin(); size != tensor.shape.rend(); ++size) put<uint64_t>(head, *size);
    put(head, tensor.format->code);
    put(head, offset);
    offset += tensor.num_bytes() + padding_behind(tensor.num_bytes()).size();
  }
  return head + padding_behind(head.size());
}

void write_gguf(const std::filesystem::path& file, const Metadata& metadata, const std::vector<NewTensor>& tensors,
                const std::function<void(size_t index, const AppendBytes& append)>& write) {
  write_file_atomic(file, [&](const AppendBytes& append) {
    append(file_head(metadata, tensors));
    for (size_t i = 0; i < tensors.size(); ++i) {
      size_t written = 0;
      write(i, [&](std::string_view bytes) {
        written += bytes.size();
        append(bytes);
      });
      ROLL_CHECK_EQ(written, tensors[i].num_bytes(), tensors[i].name + " is written whole");
      append(padding_behind(written));
    }
  });
}

}  // namespace roll::gguf
