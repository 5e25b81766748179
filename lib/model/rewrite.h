// A model folder written again: what `roll export` does.
#pragma once

#include <filesystem>

#include "checkpoint/hf_folder.h"
#include "model/architectures.h"

namespace roll {

/// Opens a language or value model's folder, checks every tensor against its config.json and writes it to the new
/// folder `to` with the tokenizer files; adapters, which `merges` must allow, are added to the weights. UserError: the
/// folder is wrong, or `to` exists.
void rewrite_folder(const std::filesystem::path& from, const std::filesystem::path& to, HfSaveOptions options,
                    bool merges = false, const Architectures& known = architectures());

}  // namespace roll
