// A Hugging Face model folder: config.json, weights in one model.safetensors or in shards named by
// model.safetensors.index.json, and the tokenizer and generation files that travel with them. Knows no architecture.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "checkpoint/safetensors.h"

namespace roll {

class HfFolder {
 public:
  /// Reads config.json and the headers of all weight files. UserError: no such folder, no config.json, no weights,
  /// an index that names missing files or tensors, a tensor in two files.
  static HfFolder open(const std::filesystem::path& folder);

  /// Only config.json of a folder (no weights are needed or looked at).
  static Json read_config(const std::filesystem::path& folder);

  const std::filesystem::path& path() const { return path_; }
  const Json& config() const { return config_; }

  /// The tensors of all files.
  const std::vector<TensorEntry>& entries() const { return entries_; }
  /// nullptr when the folder has no such tensor.
  const TensorEntry* find(const std::string& name) const;
  /// "folder/model-00001-of-00002.safetensors" that holds `name`.
  std::string file_of(const std::string& name) const;
  /// As stored, on the CPU; see SafetensorsFile::read.
  at::Tensor read(const std::string& name) const;

 private:
  void add_file(const std::string& name);
  void check_index(const FileJson& weight_map);

  std::filesystem::path path_;
  Json config_;
  std::vector<std::string> file_names_;
  std::vector<SafetensorsFile> files_;
  std::vector<TensorEntry> entries_;
  std::unordered_map<std::string, std::pair<size_t, size_t>> where_;  // name -> (file, entry)
};

/// The files that travel with weights, by name, with their bytes: tokenizer*, vocab*, merges*, special_tokens_map,
/// added_tokens, chat_template*, additional_chat_templates/, generation_config, LICENSE. Read when a model is loaded, so that it can be saved
/// whatever becomes of the folder.
using Companions = std::map<std::string, std::string>;
/// UserError: one cannot be read.
Companions read_companions(const std::filesystem::path& folder);
/// What it wrote. SystemError.
FileSums write_companions(const Companions& companions, const std::filesystem::path& folder);

struct HfSaveOptions {
  std::optional<at::ScalarType> dtype;                        // weights are converted to it; unset keeps each as it is
  int64_t max_shard_bytes = int64_t{5} * 1000 * 1000 * 1000;  // a single larger tensor has a shard of its own
};

/// Writes config.json (its torch_dtype, which every version of transformers reads, set to what is stored), the weights
/// (sharded if need be) and the companions into the existing `folder`; `kept` are weights that stay in their dtypes.
/// What it wrote. SystemError when the disk refuses.
FileSums write_hf_files(const std::filesystem::path& folder, Json config, const NamedTensors& tensors,
                        const Companions& companions, const HfSaveOptions& options, const NamedTensors& kept = {});

}  // namespace roll
