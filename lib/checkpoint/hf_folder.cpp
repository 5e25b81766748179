#include "checkpoint/hf_folder.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/json_object.h"
#include "checkpoint/gguf/gguf_folder.h"
#include "checkpoint/gguf/gguf_weights.h"

namespace roll {

namespace fs = std::filesystem;

namespace {

constexpr const char* kIncomplete = "the model is not complete, fetch it again";
constexpr const char* kSingleFile = "model.safetensors";
constexpr const char* kIndexFile = "model.safetensors.index.json";

/// Reads an index's map from tensor to file.
FileJson read_weight_map(const fs::path& index_file) {
  const FileJson index = read_file_json(index_file);
  const std::string where = index_file.string();
  const auto map = index.is_object() ? index.find("weight_map") : index.end();
  if (!index.is_object() || map == index.end() || !map->is_object() || map->empty())
    throw user_error("{}: weight_map: an object of tensor name -> file name is needed", where);
  for (const auto& [tensor, file] : map->items()) {
    const bool is_plain_name =
        file.is_string() && fs::path(file.get<std::string>()).filename() == file.get<std::string>();
    if (!is_plain_name)
      throw user_error("{}: weight_map: {} = {}: must be the name of a file in this folder", where, tensor,
                       file.dump(-1, ' ', true, FileJson::error_handler_t::replace));
  }
  return *map;
}

/// Names a GGUF file in the folder, if there is one.
std::string gguf_hint(const fs::path& folder) {
  std::vector<std::string> files;
  for (const fs::path& entry : list_folder(folder))
    if (is_gguf(entry.string())) files.push_back(entry.string());
  return files.empty() ? "" : fmt::format(", or the GGUF file {}", std::ranges::min(files));
}

/// Joins names: "a, b, c and 4 more".
std::string short_list(std::vector<std::string> names) {
  constexpr size_t kShown = 3;
  const size_t num_hidden = names.size() > kShown ? names.size() - kShown : 0;
  names.resize(names.size() - num_hidden);
  return fmt::format("{}{}", fmt::join(names, ", "), num_hidden > 0 ? fmt::format(" and {} more", num_hidden) : "");
}

}  // namespace

Json HfFolder::read_config(const fs::path& folder) {
  if (!is_there(folder)) throw user_error("{}: there is no such folder; give a model's folder", folder.string());
  if (!is_folder(folder)) throw user_error("{}: is a file; give a model folder", folder.string());
  const fs::path file = folder / "config.json";
  if (!is_there(file))
    throw user_error("{}: the folder has no config.json; give a Hugging Face model folder{}", folder.string(),
                     gguf_hint(folder));
  Json config = parse_python_json(read_file(file, kMaxJsonBytes), file.string());
  if (!config.is_object()) throw user_error("{}: {} where a JSON object is needed", file.string(), config.type_name());
  return config;
}

HfFolder HfFolder::open(const fs::path& folder) {
  HfFolder result;
  result.path_ = folder;
  result.config_ = read_config(folder);
  if (is_there(folder / kSingleFile)) {
    result.add_file(kSingleFile);
    result.note_unread_shards();
  } else if (is_there(folder / kIndexFile)) {
    result.add_shards(read_weight_map(folder / kIndexFile));
  } else if (const auto file = gguf_file_in(folder)) {
    result.add_gguf(*file);
  } else {
    const bool pickled = is_there(folder / "pytorch_model.bin") || is_there(folder / "pytorch_model.bin.index.json");
    throw user_error("{}: has neither {} nor {}; {}", folder.string(), kSingleFile, kIndexFile,
                     pickled ? "pickled weights (pytorch_model.bin) are not read, save the model as safetensors"
                             : "give the folder that holds the weights, or fetch them");
  }
  result.show_block_weights();
  return result;
}

void HfFolder::show_block_weights() {
  const std::optional<BlockFloats> kind = block_floats(config_, (path_ / "config.json").string());
  if (!kind || gguf_) return;
  std::unordered_map<std::string, TensorEntry> weights;  // by the names of their codes
  for (const BlockEntry& found :
       find_block_weights(*kind, entries_, [&](const auto& name) { return tensor_file(name); })) {
    for (const std::string& part : {found.codes, found.scales}) block_files_[part] = position_by_name_.at(part).file;
    weights.emplace(found.codes, found.weight);
    block_weights_.emplace(found.weight.name, found);
  }
  const std::vector<TensorEntry> stored = std::exchange(entries_, {});
  const auto positions = std::exchange(position_by_name_, {});
  for (const TensorEntry& entry : stored) {
    const auto weight = weights.find(entry.name);
    if (weight == weights.end() && block_files_.contains(entry.name)) continue;  // scales
    const size_t file = positions.at(entry.name).file;
    entries_.push_back(weight == weights.end() ? entry : weight->second);
    position_by_name_[entries_.back().name] = {file, entries_.size() - 1};
  }
}

at::Tensor HfFolder::read_block_weight(const BlockEntry& entry) const {
  if (last_block_read_.first != entry.weight.name) {
    const auto read_part = [&](const std::string& name) { return files_[block_files_.at(name)].read(name); };
    last_block_read_ = {};
    last_block_read_ = {entry.weight.name, read_blocks(entry.kind, read_part(entry.codes), read_part(entry.scales))};
  }
  return last_block_read_.second;
}

void HfFolder::add_file(const std::string& name) {
  if (!is_there(path_ / name))
    throw user_error("{}: {}: no such file; {}", (path_ / kIndexFile).string(), name, kIncomplete);
  files_.emplace_back(path_ / name);
  file_names_.push_back(name);
  for (const TensorEntry& entry : files_.back().entries()) {
    const auto [position, is_new] =
        position_by_name_.emplace(entry.name, TensorPosition{files_.size() - 1, entries_.size()});
    if (is_new) {
      entries_.push_back(entry);
      continue;
    }
    notes_.push_back(
        fmt::format("{}: {}: is in {}, too; roll reads the copy in {}, the last file, as transformers does",
                    path_.string(), entry.name, file_names_[position->second.file], name));
    position->second.file = files_.size() - 1;
    entries_[position->second.entry] = entry;
  }
}

void HfFolder::add_gguf(const fs::path& file) {
  gguf_ = std::make_shared<const gguf::Weights>(file);
  entries_ = gguf_->entries();
  for (size_t i = 0; i < entries_.size(); ++i) position_by_name_.emplace(entries_[i].name, TensorPosition{0, i});
}

void HfFolder::note_unread_shards() {
  std::vector<std::string> unread_files;
  for (const fs::path& entry : list_folder(path_)) {
    const std::string name = entry.filename().string();
    if (name == kIndexFile || (name.starts_with("model-") && name.ends_with(".safetensors")))
      unread_files.push_back(name);
  }
  std::ranges::sort(unread_files);
  if (!unread_files.empty())
    notes_.push_back(fmt::format("{}: roll reads {}, as transformers does, and ignores {}; remove the outdated files",
                                 path_.string(), kSingleFile, short_list(unread_files)));
}

void HfFolder::add_shards(const FileJson& weight_map) {
  std::set<std::string> files;
  for (const auto& file : weight_map) files.insert(file.get<std::string>());
  for (const std::string& name : files) add_file(name);
  std::vector<std::string> absent, elsewhere, unnamed;
  for (const auto& [tensor, file] : weight_map.items()) {
    const auto found = position_by_name_.find(tensor);
    if (found == position_by_name_.end())
      absent.push_back(tensor);
    else if (file_names_[found->second.file] != file.get<std::string>())
      elsewhere.push_back(tensor);
  }
  for (const TensorEntry& entry : entries_)
    if (!weight_map.contains(entry.name)) unnamed.push_back(entry.name);
  unindexed_.insert(unnamed.begin(), unnamed.end());
  const auto note = [&](const std::vector<std::string>& names, const char* finding) {
    if (!names.empty())
      notes_.push_back(
          fmt::format("{}: weight_map: {}: {}", (path_ / kIndexFile).string(), short_list(names), finding));
  };
  note(absent, "is in no file; roll leaves it out, as transformers does");
  note(elsewhere, "is not in the file that the index names; roll reads it from another file, as transformers does");
  note(unnamed, "is in a file but not in the index; roll reads it if the model has it, as transformers does");
}

void HfFolder::read_as(const std::string& name, const std::string& stored) {
  ROLL_CHECK(!find(name), "a tensor of the folder keeps its name");
  position_by_name_[name] = position_by_name_.at(stored);
  notes_.push_back(fmt::format("{}: has no {}; roll reads {} instead", path_.string(), name, stored));
}

void HfFolder::rename(const std::vector<NamePrefix>& prefixes) {
  for (TensorEntry& entry : entries_) {
    const std::string name = known_name(prefixes, entry.name);
    if (name == entry.name) continue;
    if (find(name))
      throw user_error("{}: {}: the folder holds this tensor twice, also as {}; remove one", tensor_file(entry.name),
                       entry.name, name);
    auto position = position_by_name_.extract(entry.name);
    position.key() = name;
    position_by_name_.insert(std::move(position));
    if (unindexed_.erase(entry.name) > 0) unindexed_.insert(name);
    stored_names_[name] = entry.name;
    entry.name = name;
  }
}

const TensorEntry* HfFolder::find(const std::string& name) const {
  const auto found = position_by_name_.find(name);
  return found == position_by_name_.end() ? nullptr : &entries_[found->second.entry];
}

std::string HfFolder::tensor_file(const std::string& name) const {
  const TensorPosition position = position_by_name_.at(name);
  return gguf_ ? gguf_->part_file(position.entry) : (path_ / file_names_[position.file]).string();
}

at::Tensor HfFolder::read(const std::string& name) const {
  const auto found = position_by_name_.find(name);
  if (found == position_by_name_.end()) throw user_error("{}: holds no tensor {}", path_.string(), name);
  if (gguf_) return gguf_->read(found->second.entry);
  const std::string& entry_name = entries_[found->second.entry].name;
  const auto renamed = stored_names_.find(entry_name);
  const std::string& stored = renamed == stored_names_.end() ? entry_name : renamed->second;
  const auto blocks = block_weights_.find(stored);
  return blocks != block_weights_.end() ? read_block_weight(blocks->second) : files_[found->second.file].read(stored);
}

namespace {

/// Splits into shards in order, each at most `max_bytes` unless it is a single tensor.
std::vector<NamedTensors> split_shards(const NamedTensors& tensors, int64_t max_bytes) {
  std::vector<NamedTensors> shards(1);
  int64_t bytes = 0;
  for (const auto& named : tensors) {
    const auto size = static_cast<int64_t>(named.second.nbytes());
    if (!shards.back().empty() && bytes + size > max_bytes) {
      shards.emplace_back();
      bytes = 0;
    }
    shards.back().push_back(named);
    bytes += size;
  }
  return shards;
}

void write_sharded(const fs::path& folder, const std::vector<NamedTensors>& shards, FileSums& sums) {
  Json weight_map = Json::object();
  int64_t total = 0;
  for (size_t i = 0; i < shards.size(); ++i) {
    const std::string name = fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards.size());
    sums[name] = write_safetensors(folder / name, shards[i]);
    for (const auto& [tensor_name, tensor] : shards[i]) {
      add_new(weight_map, tensor_name, name);
      total += static_cast<int64_t>(tensor.nbytes());
    }
  }
  const Json index = {{"metadata", {{"total_size", total}}}, {"weight_map", weight_map}};
  sums[kIndexFile] = write_file_atomic(folder / kIndexFile, index.dump(2) + "\n");
}

/// Returns transformers' name for a dtype in config.json.
const char* torch_name(at::ScalarType dtype) {
  switch (dtype) {
    case at::kBFloat16:
      return "bfloat16";
    case at::kHalf:
      return "float16";
    case at::kDouble:
      return "float64";
    default:
      return "float32";
  }
}

}  // namespace

FileSums write_hf_files(const fs::path& folder, Json config, const NamedTensors& tensors, const Companions& companions,
                        const HfSaveOptions& options, const NamedTensors& kept) {
  NamedTensors stored = tensors;
  for (auto& named : stored) {
    named.second = named.second.detach();
    // Converts on the CPU, one by one, where conversion needs memory; tensors of that dtype are not copied.
    if (options.dtype && named.second.scalar_type() != *options.dtype)
      named.second = named.second.to(at::kCPU, *options.dtype);
  }
  ROLL_CHECK(!stored.empty(), "a model has weights");
  config.erase("dtype");
  config.erase("quantization_config");  // the weights written here are not quantised
  config["torch_dtype"] = torch_name(stored.front().second.scalar_type());
  stored.insert(stored.end(), kept.begin(), kept.end());
  const auto shards = split_shards(stored, options.max_shard_bytes);
  FileSums sums = write_companions(companions, folder);
  if (shards.size() == 1) sums[kSingleFile] = write_safetensors(folder / kSingleFile, shards.front());
  if (shards.size() > 1) write_sharded(folder, shards, sums);
  sums["config.json"] = write_file_atomic(folder / "config.json", config.dump(2) + "\n");
  return sums;
}

Companions read_companions(const fs::path& folder) {
  static const fs::path kMoreTemplates = "additional_chat_templates";
  static const std::vector<std::string> kPrefixes = {"tokenizer",          "vocab",        "merges",
                                                     "special_tokens_map", "added_tokens", "chat_template",
                                                     "generation_config",  "LICENSE"};
  Companions companions;
  for (const fs::path& entry : list_folder(folder)) {
    const std::string name = entry.filename().string();
    const bool is_companion =
        fs::is_regular_file(entry) &&
        std::any_of(kPrefixes.begin(), kPrefixes.end(), [&](const auto& p) { return name.starts_with(p); });
    if (is_companion) companions[name] = read_file(entry);
  }
  for (const fs::path& entry : list_folder(folder / kMoreTemplates))
    if (entry.extension() == ".jinja") companions[(kMoreTemplates / entry.filename()).string()] = read_file(entry);
  return companions;
}

FileSums write_companions(const Companions& companions, const fs::path& folder) {
  FileSums sums;
  for (const auto& [name, bytes] : companions) {
    fs::create_directories((folder / name).parent_path());
    sums[name] = write_file_atomic(folder / name, bytes);
  }
  return sums;
}

}  // namespace roll
