// Steps that loading any pipeline's configuration shares, for load_config.cpp and load_row_config.cpp.
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

/// Returns the hosts of the flag or the key; empty if there is no hostfile or it does not apply. UserError: the flag's
/// file is missing or wrong. A wrong file of the key becomes a complaint.
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

/// Sets the number of ranks, which must equal the devices that roles name (`mapping`: a key that names some) and fit
/// the hosts' slots. UserError: the slots are too few.
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

/// Returns the device_mapping of some role that has one.
inline const std::optional<DeviceMapping>& any_mapping(const std::vector<PlacedRole>& roles) {
  const auto named =
      std::ranges::find_if(roles, [](const auto& role) { return role.worker->device_mapping.has_value(); });
  return (named == roles.end() ? roles.front() : *named).worker->device_mapping;
}

using ModelName = std::optional<std::string>;

/// Returns the key that the user wrote: `role_key` if it is set, else the `source` that it was filled from.
const ModelName& written_key(const ModelName& role_key, const ModelName& source, const Checker& check);

/// Returns a role's model shape for sequences of up to `longest` tokens; nullopt if the folder is absent and `offline`.
/// `key`: named in complaints. Unless `offline`, the folder must hold what `use` needs.
std::optional<ModelSpec> read_spec(const ModelName& name, const ModelName& key, FolderUse use, int64_t longest,
                                   bool offline, Checker& check);

/// Returns a model's shape with the adapters that the worker trains. `spec`: nullopt if the model is unknown.
std::optional<ModelSpec> trained_spec(std::optional<ModelSpec> spec, const WorkerConfig& worker, Checker& check);

/// Complains if `length` exceeds the model's positions; RoPE itself would compute any position.
template <class M>
void check_length(const M& member, int64_t length, const std::optional<ModelSpec>& spec, const std::string& role,
                  Checker& check) {
  if (spec)
    check.require(length <= spec->max_positions, member,
                  "{} tokens are more than the {} positions of the model of {} (max_position_embeddings in its "
                  "config.json); lower it, or choose a model with a longer context",
                  length, spec->max_positions, role);
}

/// Loads and completes a configuration, calls body(result, check) for the remaining checks, and throws all complaints.
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
