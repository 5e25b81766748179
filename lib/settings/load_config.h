// Loads a YAML file into a checked configuration. All mistakes that can be found before weights are loaded are found
// here; of models and data, only the files needed for that are read.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "settings/config.h"
#include "settings/distill_config.h"
#include "settings/dpo_config.h"
#include "settings/memory_estimate.h"
#include "settings/sft_config.h"

namespace roll {

struct LoadOptions {
  std::optional<int64_t> num_ranks;     // -n; unset: the devices of device_mapping, the hostfile's slots, or 1
  bool offline = false;                 // model folders, data files and the hostfile may be absent
  std::optional<std::string> hostfile;  // --hostfile; takes precedence over the key hostfile
  bool is_started = false;              // mpirun, srun or torchrun started this process; no hostfile is read
};

/// Source of a configuration.
struct ConfigText {
  std::string yaml;
  std::string origin;                  // name of the text in messages: the file
  std::vector<std::string> overrides;  // "key.path=value", from the command line
};
/// Reads a configuration file. Throws UserError if it cannot be read.
ConfigText read_config(const std::filesystem::path& file, const std::vector<std::string>& overrides);

/// A loaded configuration. T is Config, SftConfig, DpoConfig or DistillConfig.
template <class T>
struct CheckedConfig {
  T config;  // complete: keys that follow from others are filled
  ConfigText text;
  std::vector<std::string> notes;    // remarks about accepted keys; the caller shows them once
  int64_t num_ranks = 1;             // processes that the run needs
  std::string hostfile;              // from --hostfile or the key; "": one host
  std::string plan;                  // batch sizes in words (settings/batch_plan.h)
  std::string loss;                  // normalisation of the loss in words; "" if nothing is trained
  std::string algorithm;             // nearest published algorithm; "" unless `roll train` trains
  std::string memory;                // trained parameters of adapters, memory per rank and cost of a step in words;
                                     // "" for other commands than train
  std::optional<RoleShapes> models;  // known shapes of the run's models; unset if the trained model's is unknown
};

/// Loads the configuration of `roll train`: reads `file`, applies `overrides` and checks the result. Fills unset keys
/// that follow from others, such as response_length, loss_agg_mode, every role's model_name_or_path and every reward's
/// type. Throws UserError if a key is wrong; the message lists up to ten errors, each with file, line and column.
CheckedConfig<Config> load_config(const std::filesystem::path& file, const std::vector<std::string>& overrides,
                                  const LoadOptions& options);
/// Like load_config(), for YAML text that messages call `origin`.
CheckedConfig<Config> load_config_text(const std::string& yaml, const std::string& origin,
                                       const std::vector<std::string>& overrides, const LoadOptions& options);
/// Like load_config(), for `roll sft`, `roll dpo` and `roll distill`.
CheckedConfig<SftConfig> load_sft_config(const std::filesystem::path& file, const std::vector<std::string>& overrides,
                                         const LoadOptions& options);
CheckedConfig<DpoConfig> load_dpo_config(const std::filesystem::path& file, const std::vector<std::string>& overrides,
                                         const LoadOptions& options);
CheckedConfig<DistillConfig> load_distill_config(const std::filesystem::path& file,
                                                 const std::vector<std::string>& overrides, const LoadOptions& options);

/// Returns the command that a file belongs to: "sft" if it has sft_train, "distill" if it has student or
/// student_pretrain, "dpo" if it has keys that only `roll dpo` has and no rewards, else "train". Throws UserError if
/// the file cannot be read or is not YAML.
std::string find_command(const std::filesystem::path& file);
/// Returns the word for messages such as "FILE describes sft_train": "sft_train", "preferences" or "student" for the
/// commands "sft", "dpo" and "distill". `command`: one of these three.
std::string described_by(const std::string& command);

/// Return YAML with every key and its value; a value that came from ${oc.env:NAME} is written as that. Loading the YAML
/// gives the same configuration.
std::string resolved_yaml(const Config& config);
std::string resolved_yaml(const SftConfig& config);
std::string resolved_yaml(const DpoConfig& config);
std::string resolved_yaml(const DistillConfig& config);

}  // namespace roll
