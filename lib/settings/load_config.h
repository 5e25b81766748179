// Loads a YAML file into a checked configuration. All that can be known before a model is opened is checked here.
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
  std::optional<std::string> hostfile;  // --hostfile; it wins over the key
  bool is_started = false;              // by mpirun, srun or torchrun; the hostfile is not read
};

/// YAML text and overrides of a configuration.
struct ConfigText {
  std::string yaml, origin;  // origin: what messages call it
  std::vector<std::string> overrides;
};
/// Reads a configuration file. UserError: the file cannot be read.
ConfigText read_config(const std::filesystem::path& file, const std::vector<std::string>& overrides);

template <class T>
struct CheckedConfig {
  T config;                        // complete: see load_config
  ConfigText text;                 // source
  std::vector<std::string> notes;  // accepted, but worth knowing; to be shown once
  int64_t num_ranks = 1;
  std::string hostfile;   // from --hostfile or the key; "": one host
  std::string plan;       // the batch arithmetic in words
  std::string loss;       // normalisation of the loss in words; "" if nothing is trained
  std::string algorithm;  // nearest published algorithm; "" if nothing is trained, and for other commands than train
  std::string memory;     // memory estimate per rank, in words
  std::optional<RoleShapes> models;  // shapes that the estimate used; unset if unknown
};

/// Reads `file`, applies `overrides` and checks the result. Fills in response_length and sequence_length (also the
/// validation's), loss_agg_mode, data_args.template and messages, every role's model_name_or_path and every reward's
/// type. UserError: any key is wrong; names up to ten errors, each with file, line and column.
CheckedConfig<Config> load_config(const std::filesystem::path& file, const std::vector<std::string>& overrides,
                                  const LoadOptions& options);
/// Like load_config(), for YAML text that messages call `origin`.
CheckedConfig<Config> load_config_text(const std::string& yaml, const std::string& origin,
                                       const std::vector<std::string>& overrides, const LoadOptions& options);
CheckedConfig<SftConfig> load_sft_config(const std::filesystem::path& file, const std::vector<std::string>& overrides,
                                         const LoadOptions& options);

CheckedConfig<DpoConfig> load_dpo_config(const std::filesystem::path& file, const std::vector<std::string>& overrides,
                                         const LoadOptions& options);

CheckedConfig<DistillConfig> load_distill_config(const std::filesystem::path& file,
                                                 const std::vector<std::string>& overrides, const LoadOptions& options);

/// Returns the command that a file belongs to: "sft" if it has sft_train, "distill" if it has student or
/// student_pretrain, "dpo" if it has keys that only `roll dpo` has and no rewards, else "train". UserError: the file
/// cannot be read or is no YAML.
std::string find_command(const std::filesystem::path& file);
/// Returns a phrase for what a file of "sft", "dpo" or "distill" describes.
std::string described_by(const std::string& command);

/// Return YAML of every key with its value, or the ${oc.env:NAME} that gave it. Reading it gives the same
/// configuration.
std::string resolved_yaml(const Config& config);
std::string resolved_yaml(const SftConfig& config);
std::string resolved_yaml(const DpoConfig& config);
std::string resolved_yaml(const DistillConfig& config);

}  // namespace roll
