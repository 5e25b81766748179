// Reads and writes Hugging Face model folders: config.json, weights in one model.safetensors or in shards named by
// model.safetensors.index.json, and the tokenizer and generation files beside them. Knows no architecture. The weights
// may also lie in a GGUF file (gguf/gguf_folder.h), which is only read.
// Contradictions are resolved as transformers does, with a note: the single file wins over shards, a later shard (by
// name) over earlier ones, and the index only tells which files exist.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "checkpoint/safetensors.h"

namespace roll {

namespace gguf {
class Weights;
}  // namespace gguf

class HfFolder {
 public:
  /// Reads config.json and the headers of all weight files. UserError: no such folder, no config.json, no weights, an
  /// index that names missing files, or a GGUF file with an unknown tensor.
  static HfFolder open(const std::filesystem::path& folder);

  /// Reads only config.json; weights need not exist. UserError: the folder or the file is missing, or no JSON object.
  static Json read_config(const std::filesystem::path& folder);

  const std::filesystem::path& path() const { return path_; }
  const Json& config() const { return config_; }

  /// Returns the tensors of all files.
  const std::vector<TensorEntry>& entries() const { return entries_; }
  /// Returns notes on files that contradict each other; each says which copy is read.
  const std::vector<std::string>& notes() const { return notes_; }
  /// Returns true if a shard holds the tensor but the index does not name it.
  bool is_unindexed(const std::string& name) const { return unindexed_.contains(name); }
  /// Makes the tensor `stored` available under `name`, too.
  void read_as(const std::string& name, const std::string& stored);
  /// Returns nullptr when the folder has no such tensor.
  const TensorEntry* find(const std::string& name) const;
  /// Returns the path of the file that holds `name`: "folder/model-00001-of-00002.safetensors".
  std::string file_of(const std::string& name) const;
  /// Returns the tensor as stored, on the CPU (SafetensorsFile::read). UserError: there is no such tensor.
  at::Tensor read(const std::string& name) const;

 private:
  struct Place {
    size_t file = 0, entry = 0;
  };
  void add_file(const std::string& name);
  void add_gguf(const std::filesystem::path& file);
  void add_shards(const FileJson& weight_map);
  void note_shards();

  std::filesystem::path path_;
  Json config_;
  std::vector<std::string> file_names_;
  std::vector<SafetensorsFile> files_;
  std::shared_ptr<const gguf::Weights> gguf_;  // in place of files
  std::vector<TensorEntry> entries_;
  std::unordered_map<std::string, Place> where_;
  std::vector<std::string> notes_;
  std::set<std::string> unindexed_;
};

/// Contents of the files that accompany weights, by name: tokenizer*, vocab*, merges*, special_tokens_map*,
/// added_tokens*, chat_template*, additional_chat_templates/, generation_config*, LICENSE*. They are read when a model
/// is loaded, so that it can be saved even if the folder changes.
using Companions = std::map<std::string, std::string>;
/// Reads the companions of a model's folder. UserError: one cannot be read.
Companions read_companions(const std::filesystem::path& folder);
/// Writes the companions and returns their checksums. SystemError: the disk refuses.
FileSums write_companions(const Companions& companions, const std::filesystem::path& folder);

struct HfSaveOptions {
  std::optional<at::ScalarType> dtype;                        // dtype of saved weights; unset: unchanged
  int64_t max_shard_bytes = int64_t{5} * 1000 * 1000 * 1000;  // a larger tensor gets its own shard
};

/// Writes config.json, the weights (sharded if need be) and the companions into the existing `folder`. torch_dtype,
/// which all versions of transformers read, becomes the stored dtype. `kept`: weights that keep their dtypes. Returns
/// the files' checksums. SystemError: the disk refuses.
FileSums write_hf_files(const std::filesystem::path& folder, Json config, const NamedTensors& tensors,
                        const Companions& companions, const HfSaveOptions& options, const NamedTensors& kept = {});

}  // namespace roll
