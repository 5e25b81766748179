// Writes the model in a folder to a new folder, in another dtype or file size, or with adapters merged, for `roll
// export`.
#pragma once

#include <filesystem>

#include "checkpoint/hf_folder.h"
#include "model/architectures.h"

namespace roll {

/// Reads the language or value model in the folder `from`, checks every tensor against config.json, and writes the
/// model and its tokenizer files to the new folder `to`. If options.dtype is unset, all tensors get the widest dtype in
/// the folder. `merges`: merge the folder's adapters into the weights. Throws UserError if the folder is invalid, `to`
/// exists, `merges` is true for a folder without adapters, or false for a folder with adapters.
void rewrite_folder(const std::filesystem::path& from, const std::filesystem::path& to, HfSaveOptions options,
                    bool merges = false, const Architectures& known = architectures());

/// Throws UserError if `merges` is true for a folder without adapters, or false for a folder with adapters.
void check_merge(const std::filesystem::path& from, bool merges);

/// Returns one dtype for all tensors, so that config.json can name it: the widest in the folder. Quantisation scales do
/// not count, nor do tensors that are float32 in any model.
at::ScalarType stored_dtype(const HfFolder& folder, const ModelSpec& spec);

}  // namespace roll
