// Functions that the loaders of all commands' configurations share, for load_config.cpp and load_row_config.cpp. Errors
// of the configuration are recorded in `check`; load_checked() throws them together at the end. T is the type of the
// configuration: Config, SftConfig, DpoConfig or DistillConfig.
#pragma once

#include "base/file.h"
#include "base/ranges.h"
#include "config/checker.h"
#include "config/load.h"
#include "job/hosts.h"
#include "loss/aggregate.h"
#include "model/model_folder.h"
#include "model/weights.h"
#include "settings/checks.h"
#include "settings/complete.h"
#include "settings/foreign_words.h"
#include "settings/load_config.h"
#include "settings/placement.h"

namespace roll {

/// Reads result.hostfile (from --hostfile or the key). Returns no hosts if it is "", or if it is missing and
/// options.offline. Throws UserError if the file of --hostfile is missing or wrong; records an error for the key's.
template <class T>
std::vector<Host> resolve_hosts(const CheckedConfig<T>& result, const LoadOptions& options, Checker& check) {
  std::vector<Host> hosts;
  if (result.hostfile.empty() || (options.offline && !is_there(result.hostfile))) return hosts;
  if (options.hostfile && !is_there(result.hostfile))
    throw user_error("--hostfile = {}: no such file; give the path of a hostfile", result.hostfile);
  if (options.hostfile) return read_hostfile(result.hostfile);
  check.collect(result.config.hostfile, [&] { hosts = read_hostfile(result.hostfile); });
  return hosts;
}

/// Sets result.hostfile and result.num_ranks: -n, else `num_devices` if it is above 0, else the hosts' slots, else 1.
/// `num_devices`: devices that all roles' device_mapping keys name; it must be 0 or num_ranks. `mapping`: one such key,
/// for messages. Throws UserError if the hosts have fewer slots than ranks.
template <class T>
void count_ranks(CheckedConfig<T>& result, int64_t num_devices, const std::optional<DeviceMapping>& mapping,
                 const LoadOptions& options, Checker& check) {
  if (!options.is_started) result.hostfile = options.hostfile.value_or(result.config.hostfile.value_or(""));
  const std::vector<Host> hosts = resolve_hosts(result, options, check);
  const int64_t slots = hosts.empty() ? 1 : num_slots(hosts);
  result.num_ranks = options.num_ranks.value_or(num_devices > 0 ? num_devices : slots);
  check.require(num_devices == 0 || num_devices == result.num_ranks, mapping,
                "the roles name {} {}, but -n asks for {}; make them equal", num_devices,
                num_devices == 1 ? "device" : "devices", result.num_ranks);
  if (hosts.empty() || result.num_ranks <= slots) return;
  if (options.num_ranks)
    throw user_error("{}: {} slots, but -n asks for {} ranks; ask for fewer, or add hosts", result.hostfile, slots,
                     result.num_ranks);
  throw user_error("{}: {} slots, but the roles' device_mapping names {} devices; name fewer, or add hosts",
                   result.hostfile, slots, result.num_ranks);
}

/// Returns the device_mapping of the first role that sets it; unset if none does. `roles` must not be empty.
inline const std::optional<DeviceMapping>& any_mapping(const std::vector<PlacedRole>& roles) {
  const auto named =
      std::ranges::find_if(roles, [](const auto& role) { return role.worker->device_mapping.has_value(); });
  return (named == roles.end() ? roles.front() : *named).worker->device_mapping;
}

/// Value of a key that names a model: a folder or a Hub name.
using ModelName = std::optional<std::string>;

/// Returns the key that messages should name: `role_key` (model_name_or_path of a role) if the user set it, else
/// `source`, the top-level key that it was filled from (if that is set).
const ModelName& written_key(const ModelName& role_key, const ModelName& source, const Checker& check);

/// Returns the shape of the model `name` for sequences of up to `longest` tokens; nullopt if `name` is unset, the
/// folder is absent or its config.json is wrong. A wrong config.json is recorded as an error. Unless `offline`, so is
/// an absent folder or one that lacks files that `use` needs. `key`: the key to name in errors.
std::optional<ModelSpec> read_spec(const ModelName& name, const ModelName& key, FolderUse use, int64_t longest,
                                   bool offline, Checker& check);

/// Returns `spec` with the adapters that the worker trains, if its LoRA keys are set; nullopt if `spec` is nullopt (an
/// unknown model).
std::optional<ModelSpec> trained_spec(std::optional<ModelSpec> spec, const WorkerConfig& worker, Checker& check);

/// Returns the shape of a role's model with what its worker trains in it: adapters, and the policy's MTP head. Throws
/// UserError if the model cannot have them.
ModelSpec with_trained_parts(ModelSpec spec, const std::string& role, const WorkerConfig& worker);

/// Records an error at the key `member` if `length` tokens exceed the model's max_position_embeddings (RoPE itself
/// would compute any position). `role`: the model's role, for the message.
template <class M>
void check_length(const M& member, int64_t length, const std::optional<ModelSpec>& spec, const std::string& role,
                  Checker& check) {
  if (spec)
    check.require(length <= spec->max_positions, member,
                  "{} tokens are more than the {} positions of the model of {} (max_position_embeddings in its "
                  "config.json); lower it, or choose a model with a longer context",
                  length, spec->max_positions, role);
}

/// Parses `yaml` with the overrides, completes the configuration, and calls body(result, check). `body` takes
/// (CheckedConfig<T>&, Checker&), runs the command's checks and fills the other members of the result. Throws UserError
/// if there were errors.
template <class T, class F>
CheckedConfig<T> load_checked(const std::string& yaml, const std::string& origin,
                              const std::vector<std::string>& overrides, F&& body) {
  auto loaded = load_yaml<T>(yaml, origin, overrides, foreign_advice<T>);
  CheckedConfig<T> result;
  result.config = std::move(loaded.config);
  result.text = {yaml, origin, overrides};
  result.config.from_env = std::move(loaded.from_env);
  result.notes = std::move(loaded.notes);
  Checker check({result.config, std::move(loaded.set), loaded.origin}, result.notes);
  complete(result.config, check);
  if constexpr (!std::is_same_v<T, DpoConfig>) check_loss(result.config.loss, loss_masks(result.config), check);
  body(result, check);
  check.throw_if_any();
  result.config.loss.loss_agg_mode = loss_modes(result.config.loss).policy;
  return result;
}

}  // namespace roll
