// Lists the tensors of a GGUF file by their names in Hugging Face models, and how ggml changed their values. Used by
// Weights, which undoes the changes, and by model/gguf_export.h, which makes them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checkpoint/gguf/gguf_file.h"

namespace roll::gguf {

/// A tensor of the Hugging Face model, and the stored tensor from which it is read.
struct FolderTensor {
  std::string name;                      // Hugging Face's name: "model.layers.0.self_attn.q_proj.weight"
  std::vector<int64_t> shape;            // Hugging Face's shape; one expert's matrix if `expert` is set
  const StoredTensor* stored = nullptr;  // tensor of the file; never null in results
  int64_t expert = -1;                   // index into dimension 0 of `stored`; -1: the tensor is all of `stored`
  int64_t heads = 0;                     // heads in which ggml reordered the rows, as the RoPE of ggml needs; 0: none
  bool is_raised = false;                // ggml added 1 to all values
};

/// Returns the values of the key general.architecture that roll can read.
std::vector<std::string> known_architectures();

/// Returns the value of general.architecture. Throws UserError if it is missing or not in known_architectures().
std::string read_architecture(const File& file);

/// Returns all tensors of the Hugging Face model; `file` must outlive the result. Leaves out tensors that only scale
/// RoPE, which config.json describes. Throws UserError if the architecture or a tensor is unknown.
std::vector<FolderTensor> folder_tensors(const File& file);

/// A tensor of the Hugging Face model as a GGUF file stores it.
struct StoredAs {
  std::string name;        // "blk.0.attn_q.weight"; experts of a stack have the same name
  std::string heads_key;   // key of config.json that counts the heads in which ggml reorders the rows; empty: none
  bool is_raised = false;  // ggml adds 1 to all values
  bool is_router = false;  // ggml keeps it float32
};

/// Returns the value of general.architecture for models with this model_type of config.json; "" if there is none.
std::string stored_architecture(const std::string& model_type);

/// The inverse of folder_tensors() for the Hugging Face name of one tensor; nullopt if models of the `architecture`
/// (one of known_architectures()) have no such tensor in GGUF files.
std::optional<StoredAs> stored_as(const std::string& architecture, const std::string& name);

}  // namespace roll::gguf
