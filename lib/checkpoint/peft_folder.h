// A folder of adapters as PEFT writes it: adapter_config.json, which names the folder of the model that they belong to,
// and adapter_model.safetensors. Tensors are named here as within the model, without PEFT's "base_model.model." before
// them and with ".modules_to_save" in what is trained whole. Knows no architecture.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "checkpoint/base_folder.h"
#include "checkpoint/hf_folder.h"

namespace roll {

/// "lm_head.modules_to_save.weight" -> "lm_head.weight".
std::string without_saved_infix(const std::string& name);

class PeftFolder {
 public:
  /// UserError: a file is missing or not what its name says.
  explicit PeftFolder(const std::filesystem::path& folder);

  const Json& config() const { return config_; }
  std::string config_file() const;
  std::string weights_file() const;
  /// Of all tensors.
  std::vector<std::string> names() const;
  /// Null: there is none.
  const TensorEntry* find(const std::string& name) const;
  at::Tensor read(const std::string& name) const;

 private:
  std::string stored(const std::string& name) const;

  std::filesystem::path path_;
  Json config_;
  SafetensorsFile file_;
};

/// Writes both files and the companions into the existing `folder`. What it wrote. SystemError.
FileSums write_peft_files(const std::filesystem::path& folder, const Json& config, const NamedTensors& tensors,
                          const Companions& companions);

}  // namespace roll
