// Writes GGUF files: version 3, little endian, tensors aligned to 32 bytes. gguf_file.h reads them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "checkpoint/gguf/gguf_types.h"

namespace roll::gguf {

/// Keys and values of a new file, in the order of the calls. No key may be given twice; this is not checked. Counts
/// become uint32 (count() throws Bug for others), numbers float32.
class Metadata {
 public:
  void text(const std::string& key, std::string_view value);
  void count(const std::string& key, int64_t value);
  void number(const std::string& key, double value);
  void flag(const std::string& key, bool value);
  void texts(const std::string& key, const std::vector<std::string>& values);
  void numbers(const std::string& key, const std::vector<float>& values);
  void integers(const std::string& key, const std::vector<int32_t>& values);
  void flags(const std::string& key, const std::vector<bool>& values);

  const std::string& bytes() const { return bytes_; }
  uint64_t num_keys() const { return num_keys_; }

 private:
  void begin(const std::string& key, uint32_t type);
  void begin_list(const std::string& key, uint32_t type, size_t count);

  std::string bytes_;
  uint64_t num_keys_ = 0;
};

/// A tensor of a new file. Its rows must be whole blocks of the format.
struct NewTensor {
  std::string name;
  std::vector<int64_t> shape;  // outermost dimension first, as in PyTorch
  const NumberFormat* format = nullptr;

  size_t num_bytes() const;
};

/// Returns the bytes before the tensors' numbers, padded to the alignment.
std::string file_head(const Metadata& metadata, const std::vector<NewTensor>& tensors);

/// Returns the bytes that fill a tensor's numbers up to the alignment.
std::string padding_behind(size_t num_bytes);

/// Writes a file atomically. `write(index, append)` appends the bytes of tensors[index]; it is called once for each, in
/// order, so that one tensor at a time is in memory. Throws SystemError if writing fails.
void write_gguf(const std::filesystem::path& file, const Metadata& metadata, const std::vector<NewTensor>& tensors,
                const std::function<void(size_t index, const AppendBytes& append)>& write);

}  // namespace roll::gguf
