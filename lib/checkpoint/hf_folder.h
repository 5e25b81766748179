// Reads and writes Hugging Face model folders: config.json; weights in one model.safetensors, or in several files
// ("shards") that model.safetensors.index.json lists; and companions, the tokenizer and generation files beside them.
// It knows no model architecture. If files contradict each other, it reads what transformers would read, and adds a
// note: the single file wins over shards, and a later shard (by name) over earlier ones; the index only lists the files
// to read. Without safetensors, the weights are read from a GGUF file (gguf/gguf_folder.h).
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/json.h"
#include "checkpoint/block_floats.h"
#include "checkpoint/name_prefix.h"
#include "checkpoint/safetensors.h"

namespace roll {

namespace gguf {
class Weights;
}  // namespace gguf

/// An opened folder; tensors are read on demand. The files must not change while it is in use. Weights stored with a
/// scale per block (block_floats.h) appear as bfloat16 tensors. Not safe for use by several threads.
class HfFolder {
 public:
  /// Reads config.json and the headers of all weight files. Throws UserError if the folder, config.json or the weights
  /// are missing, the index lists a missing file, a file is malformed, or a GGUF file has an unknown tensor.
  static HfFolder open(const std::filesystem::path& folder);

  /// Returns the content of config.json; weights need not exist. Throws UserError if the folder or the file is missing,
  /// or the file holds no JSON object.
  static Json read_config(const std::filesystem::path& folder);

  const std::filesystem::path& path() const { return path_; }
  const Json& config() const { return config_; }

  /// Returns the tensors of all files, each name once: the copy that is read.
  const std::vector<TensorEntry>& entries() const { return entries_; }
  /// Returns notes for the user on files that contradict each other; each says which copy is read.
  const std::vector<std::string>& notes() const { return notes_; }
  /// True if a shard holds the tensor but the index does not list it.
  bool is_unindexed(const std::string& name) const { return unindexed_.contains(name); }
  /// Makes find() and read() return the tensor `stored` also under `name`, and adds a note. entries() stays as it is.
  /// `stored` must exist. Throws Bug if the folder has a tensor `name`.
  void read_as(const std::string& name, const std::string& stored);
  /// Gives all tensors the names known_name() returns, here and in entries(). Throws UserError if two get the same
  /// name.
  void rename(const std::vector<NamePrefix>& prefixes);
  /// True if rename() changed a name.
  bool is_renamed() const { return !stored_names_.empty(); }
  /// Returns the tensor's header entry, valid as long as this object; nullptr if the folder has no such tensor.
  const TensorEntry* find(const std::string& name) const;
  /// Returns the path of the file that holds the tensor: "folder/model-00001-of-00002.safetensors". The tensor must
  /// exist.
  std::string tensor_file(const std::string& name) const;
  /// Returns the tensor on the CPU, as SafetensorsFile::read() or gguf::Weights::read() does. Throws UserError if there
  /// is no such tensor.
  at::Tensor read(const std::string& name) const;

 private:
  struct TensorPosition {
    size_t file = 0, entry = 0;
  };
  void add_file(const std::string& name);
  void add_gguf(const std::filesystem::path& file);
  void add_shards(const FileJson& weight_map);
  void note_unread_shards();
  /// Replaces the tensors that store weights with a scale per block by those weights.
  void show_block_weights();
  at::Tensor read_block_weight(const BlockEntry& entry) const;

  std::filesystem::path path_;
  Json config_;
  std::vector<std::string> file_names_;
  std::vector<SafetensorsFile> files_;
  std::unordered_map<std::string, BlockEntry> block_weights_;   // by stored name
  std::unordered_map<std::string, size_t> block_files_;         // files of their codes and scales, by name
  mutable std::pair<std::string, at::Tensor> last_block_read_;  // a stack's experts are read one after the other
  std::shared_ptr<const gguf::Weights> gguf_;                   // null if the weights are in safetensors files
  std::vector<TensorEntry> entries_;
  std::unordered_map<std::string, TensorPosition> position_by_name_;
  std::unordered_map<std::string, std::string> stored_names_;  // by the names that rename() gave
  std::vector<std::string> notes_;
  std::set<std::string> unindexed_;
};

/// Contents of the files that accompany weights: file name -> bytes. They are tokenizer*, vocab*, merges*,
/// special_tokens_map*, added_tokens*, chat_template*, additional_chat_templates/*.jinja, generation_config* and
/// LICENSE*. They are read when a model is loaded, so that it can be saved even if the folder changes.
using Companions = std::map<std::string, std::string>;
/// Reads the companions in a folder; config.json and weights need not exist. Throws UserError if one cannot be read.
Companions read_companions(const std::filesystem::path& folder);
/// Writes the companions into the existing `folder`; returns their checksums by file name. Throws SystemError if
/// writing fails.
FileSums write_companions(const Companions& companions, const std::filesystem::path& folder);

struct HfSaveOptions {
  std::optional<at::ScalarType> dtype;                        // dtype of written weights; unset: not converted
  int64_t max_shard_bytes = int64_t{5} * 1000 * 1000 * 1000;  // size limit of a file; a larger tensor is alone in one
};

/// Writes config.json, the weights (in several files if they are large) and the companions into the existing `folder`;
/// returns the checksums by file name. `config`: content of config.json; the function sets its torch_dtype to the dtype
/// of the first tensor as written, and removes quantization_config. `tensors`: unsharded weights on any device, at
/// least one. `kept`: further weights, which options.dtype does not convert. Throws SystemError if writing fails.
FileSums write_hf_files(const std::filesystem::path& folder, Json config, const NamedTensors& tensors,
                        const Companions& companions, const HfSaveOptions& options, const NamedTensors& kept = {});

}  // namespace roll
