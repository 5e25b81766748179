// A model folder from a config and tensors that no model made.
#pragma once

#include <filesystem>

#include "base/file.h"
#include "checkpoint/hf_folder.h"

namespace roll::test {

inline void save_folder(const std::filesystem::path& folder, const Json& config, const NamedTensors& tensors,
                        const HfSaveOptions& options = {}, const Companions& companions = {}) {
  write_folder_atomic(folder, [&](const std::filesystem::path& temporary) {
    write_hf_files(temporary, config, tensors, companions, options);
  });
}

}  // namespace roll::test
