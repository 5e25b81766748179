// A folder of adapters as PEFT writes it: adapter_config.json, which names the folder of the model that they belong to,
// and adapter_model.safetensors. Tensors are named here as within the model, without PEFT's "base_model.model." before
// them and with ".modules_to_save" in what is trained whole. Knows no architecture.
#pragma once

#include <filesystem>
#include <map>
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
  /// Experts whose adapters PEFT stacks, because their weights are stacked in transformers 5, have each their own here.
  /// UserError: a file is missing or not what its name says, or stacked adapters are of another form.
  explicit PeftFolder(const std::filesystem::path& folder);

  const Json& config() const { return config_; }
  std::string config_file() const;
  std::string weights_file() const;
  /// All tensors' names, in the order of the file.
  std::vector<std::string> names() const;
  /// Null if there is no such tensor.
  const TensorEntry* find(const std::string& name) const;
  at::Tensor read(const std::string& name) const;

 private:
  std::filesystem::path path_;
  Json config_;
  SafetensorsFile file_;
  struct Part {
    at::Tensor values;
    std::vector<at::Tensor> zeros;  // numbers beside them that must be 0
  };
  void leave_out(const std::string& name);
  void add_part(const std::string& name, Part part);
  void leave_out_tied_copies();
  void split_stacked();
  void split(const std::string& module, const std::string& stored, const std::vector<std::string>& products);

  std::vector<TensorEntry> entries_;   // under the names of the model
  std::map<std::string, Part> parts_;  // of tensors that are left out
};

/// Writes both files and the companions into the existing `folder`. What it wrote. SystemError.
FileSums write_peft_files(const std::filesystem::path& folder, const Json& config, const NamedTensors& tensors,
                          const Companions& companions);

}  // namespace roll
