// The tensors of a GGUF file under the names that Hugging Face's models give them, and what ggml changed in them.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/gguf/gguf_file.h"

namespace roll::gguf {

/// A tensor as a Hugging Face folder has it.
struct FolderTensor {
  std::string name;
  std::vector<int64_t> shape;
  const StoredTensor* stored = nullptr;
  int64_t expert = -1;     // index in a stack of experts; -1: the whole tensor
  int64_t heads = 0;       // heads whose rows ggml reordered for its rotary embedding; 0: not reordered
  bool is_raised = false;  // ggml added 1 to all values
};

/// Names of general.architecture that are read.
std::vector<std::string> known_architectures();

/// Returns general.architecture. Throws UserError if it is missing or unknown.
std::string read_architecture(const File& file);

/// Lists the tensors. Throws UserError if one is unknown, because a model without it would compute something else.
std::vector<FolderTensor> folder_tensors(const File& file);

}  // namespace roll::gguf
