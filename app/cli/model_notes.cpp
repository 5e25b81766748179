#include "app/cli/model_notes.h"

#include <iostream>

#include "model/model_folder.h"

namespace roll {

void print_model_notes(const std::filesystem::path& model) {
  for (const std::string& note : folder_notes(model)) std::cerr << "note: " << note << "\n";
}

}  // namespace roll
