// Whether a model's folder holds what a run will ask of it, as far as names, sizes and headers tell.
#pragma once

#include <filesystem>

#include "model/spec.h"

namespace roll {

enum class FolderUse {
  kWrites,      // all weights, and a tokenizer
  kForwards,    // all weights
  kReads,       // the weights below the head, and a tokenizer
  kGivesValues  // the weights below the head, which a language model's folder has too
};

/// UserError: HfFolder::open()'s, those of check_parameters(), no tokenizer.json.
void check_folder(const std::filesystem::path& folder, const ModelSpec& spec, FolderUse use);

}  // namespace roll
