// Reads GGUF files, versions 2 and 3 (little endian), as ggml writes them: metadata, then the list of tensors,
// then their bytes. Everything is checked before any tensor is touched; a bad file is a UserError "file: where: what;
// remedy". Files are mapped. A split model (NAME-00001-of-00003.gguf, ...) is read as one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/gguf/gguf_types.h"
#include "checkpoint/mapped_file.h"

namespace roll::gguf {

/// A value in the metadata. It points into the mapped file.
struct Value {
  uint32_t type = 0;  // type code; for a list, that of its elements
  bool is_list = false;
  uint64_t count = 1;
  std::string_view numbers;             // bytes of the elements, unless they are strings
  std::vector<std::string_view> texts;  // the strings
};

struct StoredTensor {
  std::string name;
  std::vector<int64_t> shape;  // outermost dimension first, as in PyTorch
  const NumberFormat* format = nullptr;
  const unsigned char* data = nullptr;
  size_t file = 0;  // index of its part
};

class File {
 public:
  /// Maps a file, and the other parts of a split model, and checks all but the numbers. Throws UserError as above.
  explicit File(const std::filesystem::path& path);

  /// Returns the path of the (first) file, for messages.
  const std::string& name() const { return names_.front(); }
  const std::vector<std::string>& part_names() const { return names_; }
  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  const StoredTensor* find_tensor(const std::string& name) const;
  const std::map<std::string, Value, std::less<>>& metadata() const { return metadata_; }

  /// Look up a key of the metadata; nullopt or nullptr if there is no such key. They throw UserError if its value has
  /// another type.
  std::optional<std::string> text(const std::string& key) const;
  std::optional<double> number(const std::string& key) const;
  std::optional<int64_t> count(const std::string& key) const;  // UserError also if it is negative or above 2^53
  std::optional<bool> flag(const std::string& key) const;
  std::optional<std::vector<double>> numbers(const std::string& key) const;  // elements of a list, or one number
  const std::vector<std::string_view>* texts(const std::string& key) const;
  /// Returns true if the value is a list.
  bool is_list(const std::string& key) const;

  /// Throws UserError "file: key = value: rule", or "file: key: missing; rule".
  [[noreturn]] void fail(const std::string& key, const std::string& rule) const;

 private:
  class Part;
  const Value* find(const std::string& key) const;
  void add_part(const std::filesystem::path& path);

  std::vector<std::string> names_;
  std::vector<std::unique_ptr<MappedFile>> parts_;
  std::map<std::string, Value, std::less<>> metadata_;
  std::vector<StoredTensor> tensors_;
  std::map<std::string, size_t, std::less<>> by_name_;
};

/// Returns the shortest decimal number that is `value` in float32, as config.json had it: 1e-05, not
/// 9.999999747378752e-06.
double shortest_decimal(float value);

/// Returns the first part of the split model that `path` is a part of, else `path`.
std::filesystem::path first_part(const std::filesystem::path& path);

}  // namespace roll::gguf
