// Reads and writes a folder of PEFT adapters: adapter_config.json, which names the base model, and
// adapter_model.safetensors. Tensors have the model's names, without PEFT's prefix "base_model.model.". Fully trained
// modules have the infix ".modules_to_save". Knows no architecture.
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

/// Removes PEFT's infix: "lm_head.modules_to_save.weight" -> "lm_head.weight".
std::string without_saved_infix(const std::string& name);

class PeftFolder {
 public:
  /// Reads the config and the header. Adapters of experts, which PEFT stacks as transformers 5 stacks the weights, are
  /// split per expert. UserError: a file is missing or malformed, or stacked adapters have another form.
  explicit PeftFolder(const std::filesystem::path& folder);

  const Json& config() const { return config_; }
  std::string config_file() const;
  std::string weights_file() const;
  /// Returns the names of all tensors, in the file's order.
  std::vector<std::string> names() const;
  /// Returns null if there is no such tensor.
  const TensorEntry* find(const std::string& name) const;
  at::Tensor read(const std::string& name) const;

 private:
  std::filesystem::path path_;
  Json config_;
  SafetensorsFile file_;
  struct Part {
    at::Tensor values;
    std::vector<at::Tensor> zeros;  // neighbouring elements, which must be 0
  };
  void leave_out(const std::string& name);
  void add_part(const std::string& name, Part part);
  void leave_out_tied_copies();
  void split_stacked();
  void split(const std::string& module, const std::string& stored, const std::vector<std::string>& products);

  std::vector<TensorEntry> entries_;   // under the names of the model
  std::map<std::string, Part> parts_;  // views of stacked adapters, per expert
};

/// Writes both files and the companions into the existing `folder`; returns their checksums. SystemError: the disk
/// refuses.
FileSums write_peft_files(const std::filesystem::path& folder, const Json& config, const NamedTensors& tensors,
                          const Companions& companions);

}  // namespace roll
