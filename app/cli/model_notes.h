// Notes about a model folder, which commands print before they load the model.
#pragma once

#include <filesystem>

namespace roll {

/// Writes folder_notes() (model/model_folder.h) to standard error, one line each. UserError: as folder_notes().
void print_model_notes(const std::filesystem::path& model);

}  // namespace roll
