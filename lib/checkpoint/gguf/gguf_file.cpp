#include "checkpoint/gguf/gguf_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "unicode/unicode.h"

namespace roll::gguf {

namespace fs = std::filesystem;

namespace {

constexpr const char* kDamaged = "the file is damaged, fetch it again";
constexpr const char* kCutOff = "the file is cut off, fetch it again";
constexpr uint32_t kStringType = 8, kListType = 9, kBoolType = 7, kFloatType = 6;
constexpr uint64_t kMaxKeys = 100'000, kMaxTensors = 1'000'000, kMaxTexts = 4'000'000;
constexpr size_t kMaxName = 1000, kMaxDims = 4, kMaxParts = 10'000;
constexpr int64_t kMaxCount = int64_t{1} << 53;

/// Bytes of a number of each type, by code; 0: no number.
constexpr size_t kNumberBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

size_t number_bytes(uint32_t type) {
  return type < std::size(kNumberBytes) ? kNumberBytes[type] : 0;
}

template <class T>
T copied(std::string_view bytes, uint64_t index) {
  T value{};
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof value);
  return value;
}

/// Returns an element of a list of numbers as float64, which keeps integers up to 2^53.
double number_at(const Value& value, uint64_t index) {
  const std::string_view bytes = value.numbers;
  switch (value.type) {
    case 0:
    case kBoolType:
      return copied<uint8_t>(bytes, index);
    case 1:
      return copied<int8_t>(bytes, index);
    case 2:
      return copied<uint16_t>(bytes, index);
    case 3:
      return copied<int16_t>(bytes, index);
    case 4:
      return copied<uint32_t>(bytes, index);
    case 5:
      return copied<int32_t>(bytes, index);
    case kFloatType:
      return copied<float>(bytes, index);
    case 10:
      return static_cast<double>(copied<uint64_t>(bytes, index));
    case 11:
      return static_cast<double>(copied<int64_t>(bytes, index));
    default:
      return copied<double>(bytes, index);
  }
}

bool is_integer(const Value& value) {
  return value.type != kStringType && value.type != kBoolType && value.type != kFloatType && value.type != 12;
}

std::string shown(const Value& value) {
  if (value.is_list) return fmt::format("(a list of {})", value.count);
  if (value.type == kStringType) return std::string(value.texts.front().substr(0, 80));
  return value.type == kBoolType ? (number_at(value, 0) != 0 ? "true" : "false")
                                 : fmt::format("{}", number_at(value, 0));
}

/// Reads from the front of bytes; every read is checked.
class Cursor {
 public:
  Cursor(std::string_view bytes, std::string file) : bytes_(bytes), file_(std::move(file)) {}

  std::string_view take(uint64_t count, const std::string& what) {
    if (count > left())
      throw user_error("{}: {} takes {} bytes at byte {}, the file has {}; {}", file_, what, count, at_, bytes_.size(),
                       kCutOff);
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }
  template <class T>
  T number(const std::string& what) {
    return copied<T>(take(sizeof(T), what), 0);
  }
  std::string_view text(const std::string& what) {
    const auto length = number<uint64_t>(what);
    const std::string_view text = take(length, what);
    if (valid_utf8_prefix(text) != text.size())
      throw user_error("{}: {} is not UTF-8 at byte {}; {}", file_, what, at_ - length, kDamaged);
    return text;
  }
  std::string name(const std::string& what) {
    const std::string_view text = this->text(what);
    if (text.empty() || text.size() > kMaxName)
      throw user_error("{}: {} has {} bytes; 1 to {} are read; {}", file_, what, text.size(), kMaxName, kDamaged);
    return std::string(text);
  }
  uint64_t left() const { return bytes_.size() - at_; }
  uint64_t at() const { return at_; }

 private:
  std::string_view bytes_;
  std::string file_;
  uint64_t at_ = 0;
};

}  // namespace

/// Parses one file.
class File::Part {
 public:
  Part(std::string_view bytes, std::string file) : file_(std::move(file)), in_(bytes, file_), bytes_(bytes) {
    read_head();
    for (uint64_t i = 0; i < num_keys_; ++i) read_key(i);
    for (uint64_t i = 0; i < num_tensors_; ++i) read_tensor(i);
    place_tensors();
  }

  std::map<std::string, Value, std::less<>> metadata;
  std::vector<StoredTensor> tensors;

 private:
  void read_head() {
    const auto magic = in_.take(4, "the head");
    if (magic != "GGUF") throw user_error("{}: begins with other bytes than GGUF; give a GGUF file", file_);
    const auto version = in_.number<uint32_t>("the version");
    if ((version & 0xFFFF) == 0)
      throw user_error("{}: is of a big-endian machine, which is not read; convert the model again", file_);
    if (version != 2 && version != 3)
      throw user_error("{}: version = {}: only 2 and 3 are read; convert the model again", file_, version);
    num_tensors_ = in_.number<uint64_t>("the number of tensors");
    num_keys_ = in_.number<uint64_t>("the number of keys");
    check_count("tensors", num_tensors_, kMaxTensors);
    check_count("keys", num_keys_, kMaxKeys);
  }

  void check_count(const char* what, uint64_t count, uint64_t most) const {
    if (count > most)
      throw user_error("{}: says that it has {} {}; at most {} are read; {}", file_, count, what, most, kDamaged);
  }

  void read_key(uint64_t index) {
    const std::string key = in_.name(fmt::format("the name of key {}", index));
    Value value{.type = in_.number<uint32_t>(key)};
    if (value.type == kListType) {
      value.is_list = true;
      value.type = in_.number<uint32_t>(key);
      value.count = in_.number<uint64_t>(key);
    }
    if (value.type == kStringType) {
      num_texts_ += std::min(value.count, kMaxTexts + 1);
      check_count("strings", num_texts_, kMaxTexts);
      for (uint64_t i = 0; i < value.count; ++i) value.texts.push_back(in_.text(key));
    } else {
      const size_t size = number_bytes(value.type);
      if (size == 0) throw user_error("{}: {}: type {} of a value is unknown; {}", file_, key, value.type, kDamaged);
      if (value.count > in_.left() / size)
        throw user_error("{}: {}: a list of {} numbers is longer than the file; {}", file_, key, value.count, kCutOff);
      value.numbers = in_.take(value.count * size, key);
    }
    if (!metadata.emplace(key, std::move(value)).second)
      throw user_error("{}: {}: the key is there twice; {}", file_, key, kDamaged);
  }

  void read_tensor(uint64_t index) {
    StoredTensor tensor;
    tensor.name = in_.name(fmt::format("the name of tensor {}", index));
    const std::string where = fmt::format("{}: {}", file_, tensor.name);
    const auto num_dims = in_.number<uint32_t>(tensor.name);
    if (num_dims == 0 || num_dims > kMaxDims)
      throw user_error("{}: has {} dimensions; 1 to {} are read; {}", where, num_dims, kMaxDims, kDamaged);
    for (uint32_t i = 0; i < num_dims; ++i) {
      const auto size = in_.number<uint64_t>(tensor.name);
      if (size == 0 || size > uint64_t{kMaxCount})
        throw user_error("{}: dimension {} = {}: 1 to 2^53 is needed; {}", where, i, size, kDamaged);
      tensor.shape.insert(tensor.shape.begin(), static_cast<int64_t>(size));
    }
    tensor.format = &number_format(in_.number<uint32_t>(tensor.name), where);
    offsets_.push_back(in_.number<uint64_t>(tensor.name));
    tensors.push_back(std::move(tensor));
  }

  size_t bytes_of(const StoredTensor& tensor, const std::string& where) const {
    const NumberFormat& format = *tensor.format;
    if (tensor.shape.back() % format.block_size != 0)
      throw user_error("{}: rows of {} numbers are not whole blocks of {}, which {} has; {}", where,
                       tensor.shape.back(), format.block_size, format.name, kDamaged);
    auto bytes = static_cast<size_t>(tensor.shape.back() / format.block_size * format.block_bytes);
    for (size_t i = 0; i + 1 < tensor.shape.size(); ++i)
      if (__builtin_mul_overflow(bytes, static_cast<size_t>(tensor.shape[i]), &bytes))
        throw user_error("{}: has more bytes than an address space holds; {}", where, kDamaged);
    return bytes;
  }

  uint64_t alignment() const {
    const auto found = metadata.find("general.alignment");
    if (found == metadata.end()) return 32;
    const double value = found->second.is_list || !is_integer(found->second) ? 0 : number_at(found->second, 0);
    const auto bytes = value >= 1 && value <= 1 << 20 ? static_cast<uint64_t>(value) : 0;
    if (bytes == 0 || (bytes & (bytes - 1)) != 0)
      throw user_error("{}: general.alignment: a power of two up to 2^20 is needed; {}", file_, kDamaged);
    return bytes;
  }

  /// Finds the tensors' bytes behind the lists, and checks that they lie in the file and apart.
  void place_tensors() {
    const uint64_t unit = alignment(), start = (in_.at() + unit - 1) / unit * unit;
    const uint64_t space = bytes_.size() > start ? bytes_.size() - start : 0;
    std::vector<std::pair<uint64_t, size_t>> order;
    for (size_t i = 0; i < tensors.size(); ++i) order.emplace_back(offsets_[i], i);
    std::ranges::sort(order);
    uint64_t end = 0;
    for (const auto& [offset, index] : order) {
      StoredTensor& tensor = tensors[index];
      const std::string where = fmt::format("{}: {}", file_, tensor.name);
      const size_t bytes = bytes_of(tensor, where);
      if (offset % unit != 0)
        throw user_error("{}: offset = {}: must be a multiple of {}; {}", where, offset, unit, kDamaged);
      if (offset < end) throw user_error("{}: its bytes overlap another tensor's; {}", where, kDamaged);
      if (offset > space || bytes > space - offset)
        throw user_error("{}: {} bytes at {} of the file's {} bytes of tensors; {}", where, bytes, offset, space,
                         kCutOff);
      end = offset + bytes;
      tensor.data = reinterpret_cast<const unsigned char*>(bytes_.data()) + start + offset;
    }
  }

  std::string file_;
  Cursor in_;
  std::string_view bytes_;
  uint64_t num_tensors_ = 0, num_keys_ = 0, num_texts_ = 0;
  std::vector<uint64_t> offsets_;
};

namespace {

/// Splits "NAME-00002-of-00003.gguf" at its number. Nothing if the name has another form.
struct PartName {
  std::string before, behind;
};
std::optional<PartName> part_name(const std::string& name) {
  constexpr std::string_view kForm = "-00000-of-00000.gguf";
  if (name.size() <= kForm.size()) return {};
  const size_t begin = name.size() - kForm.size();
  for (size_t i = 0; i < kForm.size(); ++i) {
    const bool is_digit = name[begin + i] >= '0' && name[begin + i] <= '9';
    if (kForm[i] == '0' ? !is_digit : name[begin + i] != kForm[i]) return {};
  }
  return PartName{name.substr(0, begin + 1), name.substr(begin + 6)};
}

}  // namespace

double shortest_decimal(float value) {
  return std::stod(fmt::format("{}", value));
}

fs::path first_part(const fs::path& path) {
  const auto name = part_name(path.filename().string());
  return name ? path.parent_path() / (name->before + "00001" + name->behind) : path;
}

File::File(const fs::path& path) {
  const fs::path first = first_part(path);
  add_part(first);
  const int64_t parts = count("split.count").value_or(1);
  if (parts <= 1) return;
  const auto name = part_name(first.filename().string());
  if (!name || parts > static_cast<int64_t>(kMaxParts))
    fail("split.count", "is a part of a split model, whose files must be called NAME-00001-of-0000N.gguf");
  for (int64_t i = 2; i <= parts; ++i)
    add_part(first.parent_path() / fmt::format("{}{:05}{}", name->before, i, name->behind));
  const auto all = count("split.tensors.count");
  if (all && *all != static_cast<int64_t>(tensors_.size()))
    fail("split.tensors.count", fmt::format("the parts hold {} tensors; fetch them again", tensors_.size()));
}

void File::add_part(const fs::path& path) {
  names_.push_back(path.string());
  if (!is_there(path))
    throw user_error("{}: no such file; {}", path.string(),
                     names_.size() > 1 ? "fetch all parts of the model" : "give a GGUF file");
  parts_.push_back(std::make_unique<MappedFile>(path.string()));
  Part part(parts_.back()->bytes(), path.string());
  if (names_.size() == 1) metadata_ = std::move(part.metadata);
  for (StoredTensor& tensor : part.tensors) {
    tensor.file = names_.size() - 1;
    if (!by_name_.emplace(tensor.name, tensors_.size()).second)
      throw user_error("{}: {}: the tensor is there twice; {}", path.string(), tensor.name, kDamaged);
    tensors_.push_back(std::move(tensor));
  }
}

const StoredTensor* File::find_tensor(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

const Value* File::find(const std::string& key) const {
  const auto found = metadata_.find(key);
  return found == metadata_.end() ? nullptr : &found->second;
}

void File::fail(const std::string& key, const std::string& rule) const {
  const Value* value = find(key);
  if (!value) throw user_error("{}: {}: missing; {}", name(), key, rule);
  throw user_error("{}: {} = {}: {}", name(), key, shown(*value), rule);
}

std::optional<std::string> File::text(const std::string& key) const {
  const Value* value = find(key);
  if (!value) return {};
  if (value->is_list || value->type != kStringType) fail(key, "a string is needed");
  return std::string(value->texts.front());
}

std::optional<double> File::number(const std::string& key) const {
  const Value* value = find(key);
  if (!value) return {};
  if (value->is_list || value->type == kStringType || value->type == kBoolType) fail(key, "a number is needed");
  if (!std::isfinite(number_at(*value, 0))) fail(key, "a finite number is needed");
  if (value->type == kFloatType) return shortest_decimal(copied<float>(value->numbers, 0));
  return number_at(*value, 0);
}

std::optional<int64_t> File::count(const std::string& key) const {
  const Value* value = find(key);
  if (!value) return {};
  const double count = value->is_list || !is_integer(*value) ? -1 : number_at(*value, 0);
  if (count < 0 || count > static_cast<double>(kMaxCount)) fail(key, "a whole number of 0 to 2^53 is needed");
  return static_cast<int64_t>(count);
}

std::optional<bool> File::flag(const std::string& key) const {
  const Value* value = find(key);
  if (!value) return {};
  if (value->is_list || value->type != kBoolType) fail(key, "true or false is needed");
  return number_at(*value, 0) != 0;
}

std::optional<std::vector<double>> File::numbers(const std::string& key) const {
  const Value* value = find(key);
  if (!value) return {};
  if (value->type == kStringType || value->count > kMaxTexts) fail(key, "a list of numbers is needed");
  std::vector<double> all(value->count);
  for (uint64_t i = 0; i < value->count; ++i) all[i] = number_at(*value, i);
  return all;
}

const std::vector<std::string_view>* File::texts(const std::string& key) const {
  const Value* value = find(key);
  if (!value) return nullptr;
  if (!value->is_list || value->type != kStringType) fail(key, "a list of strings is needed");
  return &value->texts;
}

bool File::is_list(const std::string& key) const {
  const Value* value = find(key);
  return value && value->is_list;
}

}  // namespace roll::gguf
