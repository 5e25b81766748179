#include "checkpoint/safetensors.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/json_object.h"
#include "checkpoint/mapped_file.h"

namespace roll {

static_assert(std::endian::native == std::endian::little, "safetensors holds little-endian numbers");

namespace {

constexpr const char* kDamaged = "the file is damaged, fetch it again";
constexpr size_t kMaxHeaderBytes = 100'000'000;  // limit of the reference implementation

constexpr std::array<std::pair<const char*, at::ScalarType>, 12> kDtypes = {{{"F64", at::kDouble},
                                                                             {"F32", at::kFloat},
                                                                             {"F16", at::kHalf},
                                                                             {"BF16", at::kBFloat16},
                                                                             {"I64", at::kLong},
                                                                             {"I32", at::kInt},
                                                                             {"I16", at::kShort},
                                                                             {"I8", at::kChar},
                                                                             {"U8", at::kByte},
                                                                             {"BOOL", at::kBool},
                                                                             {"F8_E4M3", at::kFloat8_e4m3fn},
                                                                             {"F8_E5M2", at::kFloat8_e5m2}}};

at::ScalarType parse_dtype(const std::string& name, const std::string& where) {
  for (const auto& [known, dtype] : kDtypes)
    if (name == known) return dtype;
  throw user_error("{}: dtype = {}: is not supported; roll reads F32, F16, BF16, F64, I64, I32, I16, I8, U8 and BOOL",
                   where, name);
}

/// Parses a JSON array of non-negative integers.
std::vector<int64_t> parse_counts(const FileJson& tensor, const char* key, const std::string& where) {
  const auto found = tensor.find(key);
  const bool is_list =
      found != tensor.end() && found->is_array() && std::all_of(found->begin(), found->end(), [](const FileJson& x) {
        return x.is_number_unsigned() && x.get<uint64_t>() <= uint64_t{INT64_MAX};
      });
  if (!is_list) throw user_error("{}: {}: a list of non-negative integers is needed", where, key);
  return found->get<std::vector<int64_t>>();
}

/// Returns the bytes of a dense tensor. UserError: their number overflows.
size_t num_bytes(const TensorEntry& entry, const std::string& where) {
  size_t bytes = at::elementSize(entry.dtype);
  for (const int64_t n : entry.shape)
    if (__builtin_mul_overflow(bytes, static_cast<size_t>(n), &bytes))
      throw user_error("{}: shape = {}: needs more bytes than an address space has", where, shape_text(entry.shape));
  return bytes;
}

TensorEntry parse_entry(const std::string& name, const FileJson& tensor, const std::string& file) {
  const std::string where = fmt::format("{}: {}", file, name);
  if (!tensor.is_object()) throw user_error("{}: {} where an object is needed", where, tensor.type_name());
  const auto dtype = tensor.find("dtype");
  if (dtype == tensor.end() || !dtype->is_string()) throw user_error("{}: dtype: a string is needed", where);
  TensorEntry entry;
  entry.name = name;
  entry.dtype = parse_dtype(dtype->get<std::string>(), where);
  entry.shape = parse_counts(tensor, "shape", where);
  const auto offsets = parse_counts(tensor, "data_offsets", where);
  if (offsets.size() != 2 || offsets[0] > offsets[1])
    throw user_error("{}: data_offsets: two numbers [begin, end] with begin <= end are needed", where);
  entry.begin = static_cast<size_t>(offsets[0]);
  entry.end = static_cast<size_t>(offsets[1]);
  const size_t expected = num_bytes(entry, where);
  if (entry.end - entry.begin != expected)
    throw user_error("{}: data_offsets span {} bytes, but {} {} takes {}; {}", where, entry.end - entry.begin,
                     dtype_name(entry.dtype), shape_text(entry.shape), expected, kDamaged);
  return entry;
}

}  // namespace

std::string shape_text(at::IntArrayRef shape) {
  return fmt::format("[{}]", fmt::join(shape.begin(), shape.end(), ", "));
}

std::string dtype_name(at::ScalarType dtype) {
  for (const auto& [name, known] : kDtypes)
    if (dtype == known) return name;
  throw_bug(__FILE__, __LINE__, fmt::format("safetensors has no name for {}", at::toString(dtype)));
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& file)
    : file_(file.string()), mapping_(std::make_shared<MappedFile>(file_)) {
  uint64_t header_bytes = 0;
  if (mapping_->size() < sizeof header_bytes)
    throw user_error("{}: {} bytes are too few for a safetensors file; the file is truncated, fetch it again", file_,
                     mapping_->size());
  if (mapping_->bytes().starts_with("version https://git-lfs"))
    throw user_error(
        "{}: is a git-lfs pointer, not the weights; run `git lfs pull` in the model's folder, or download it with hf "
        "download",
        file_);
  std::memcpy(&header_bytes, mapping_->begin(), sizeof header_bytes);
  const size_t rest = mapping_->size() - sizeof header_bytes;
  if (header_bytes > rest || header_bytes > kMaxHeaderBytes)
    throw user_error(
        "{}: the header should have {} bytes, the file has {}; the file is truncated or not a safetensors file, fetch "
        "it again",
        file_, header_bytes, mapping_->size());
  data_start_ = sizeof header_bytes + header_bytes;
  parse_header({mapping_->begin() + sizeof header_bytes, header_bytes});
  check_ranges(rest - header_bytes);
}

void SafetensorsFile::parse_header(std::string_view text) {
  const FileJson header = parse_unique_json(text, file_ + ": header");  // JSON itself allows duplicate keys
  if (!header.is_object()) throw user_error("{}: header: {} where an object is needed", file_, header.type_name());
  for (const auto& [name, value] : header.items()) {
    if (name != "__metadata__") {
      entries_.push_back(parse_entry(name, value, file_));
      continue;
    }
    if (!value.is_object()) throw user_error("{}: __metadata__: an object of strings is needed", file_);
    for (const auto& [key, text_value] : value.items())
      if (!text_value.is_string()) throw user_error("{}: __metadata__: {}: a string is needed", file_, key);
  }
}

void SafetensorsFile::check_ranges(size_t data_bytes) {
  std::stable_sort(entries_.begin(), entries_.end(), [](const TensorEntry& a, const TensorEntry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  size_t end = 0;
  for (const TensorEntry& entry : entries_) {
    if (entry.begin < end)
      throw user_error("{}: {}: its bytes overlap another tensor's; {}", file_, entry.name, kDamaged);
    if (entry.begin > end)
      throw user_error("{}: {}: {} bytes before it belong to no tensor; {}", file_, entry.name, entry.begin - end,
                       kDamaged);
    if (entry.end > data_bytes)
      throw user_error("{}: {}: ends at byte {} of {}; the file is truncated, fetch it again", file_, entry.name,
                       entry.end, data_bytes);
    end = entry.end;
  }
  if (end != data_bytes) throw user_error("{}: {} bytes after the last tensor; {}", file_, data_bytes - end, kDamaged);
  by_name_.resize(entries_.size());
  std::iota(by_name_.begin(), by_name_.end(), size_t{0});
  std::ranges::sort(by_name_, {}, [&](size_t index) -> const std::string& { return entries_[index].name; });
}

at::Tensor SafetensorsFile::read(const std::string& name) const {
  const auto entry_name = [&](size_t index) -> const std::string& { return entries_[index].name; };
  const auto position = std::ranges::lower_bound(by_name_, name, {}, entry_name);
  if (position == by_name_.end() || entry_name(*position) != name)
    throw user_error("{}: holds no tensor {}", file_, name);
  const TensorEntry* const found = &entries_[*position];
  char* data = mapping_->begin() + data_start_ + found->begin;
  const auto options = at::TensorOptions().dtype(found->dtype);
  if (reinterpret_cast<uintptr_t>(data) % at::elementSize(found->dtype) == 0)
    return at::from_blob(
        data, found->shape, [keep = mapping_](void*) {}, options);
  at::Tensor aligned = at::empty(found->shape, options);
  if (aligned.numel() > 0) std::memcpy(aligned.data_ptr(), data, aligned.nbytes());
  return aligned;
}

namespace {

std::string make_header(const NamedTensors& tensors) {
  Json header = {{"__metadata__", {{"format", "pt"}}}};
  std::set<std::string_view> names;
  size_t begin = 0;
  for (const auto& [name, tensor] : tensors) {
    ROLL_CHECK(names.insert(name).second, "tensor names are unique");
    add_new(header, name,
            {{"dtype", dtype_name(tensor.scalar_type())},
             {"shape", tensor.sizes().vec()},
             {"data_offsets", {begin, begin + tensor.nbytes()}}});
    begin += tensor.nbytes();
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // aligns the mapped data
  return text;
}

}  // namespace

FileSum write_safetensors(const std::filesystem::path& file, const NamedTensors& tensors) {
  const std::string header = make_header(tensors);
  const uint64_t header_bytes = header.size();
  return write_file_atomic(file, [&](const AppendBytes& append) {
    append({reinterpret_cast<const char*>(&header_bytes), sizeof header_bytes});
    append(header);
    for (const auto& named : tensors) {
      const at::Tensor bytes = named.second.detach().cpu().contiguous();  // one tensor at a time in host memory
      append({static_cast<const char*>(bytes.data_ptr()), bytes.nbytes()});
    }
  });
}

}  // namespace roll
