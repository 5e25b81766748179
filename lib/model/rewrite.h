// `roll export`: writes a model folder again, in another format or with adapters merged.
#pragma once

#include <filesystem>

#include "checkpoint/hf_folder.h"
#include "model/architectures.h"

namespace roll {

/// Opens a language or value model's folder, checks every tensor against its config.json and writes it to the new
/// folder `to` with the tokenizer files. Adapters are merged into the weights. UserError: the folder is wrong, `to`
/// exists, or `merges` is true for a folder without adapters or false for one with adapters.
void rewrite_folder(const std::filesystem::path& from, const std::filesystem::path& to, HfSaveOptions options,
                    bool merges = false, const Architectures& known = architectures());

}  // namespace roll
