// Notes about a model folder, which commands print before they load the model.
#pragma once

#include <filesystem>

namespace roll {

/// Writes the notes of folder_notes() (model/model_folder.h) to standard error, one line each: which of two
/// contradicting files is read, and which keys are ignored. Throws UserError if the folder `model` is not a readable
/// model.
void print_model_notes(const std::filesystem::path& model);

}  // namespace roll
