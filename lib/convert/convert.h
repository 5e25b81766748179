// Converts configurations of verl, TRL, slime and OpenRLHF to roll's YAML, for `roll convert-config`. The tables of
// their keys: verl.cpp, trl.cpp, slime.cpp, openrlhf.cpp.
//
// Goals: the same training, with the other trainer's defaults written out; no key dropped in silence. Non-goals: its
// Python (reward functions, data sources) and its rows, which need other columns here.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "convert/launch.h"

namespace roll {

/// Result of a conversion.
struct Converted {
  std::string trainer;                   // "verl"
  std::string command;                   // roll subcommand for the YAML: "train", "sft" or "dpo"
  std::string yaml;                      // with a comment per key; begins with the two lists below
  std::vector<std::string> differences;  // settings whose meaning differs here
  std::vector<std::string> without;      // keys without counterpart: "key = value (run.sh:3): reason"
};

/// Converts `keys`. `trainer`: a trainer's name, or "auto" for the one that knows most of the keys. `num_ranks` is used
/// if the keys give no number of GPUs. UserError, naming the place: there are no keys; no trainer has such keys; a
/// number is invalid or known only at run time; another kind of training; or the number of GPUs is unknown.
Converted convert_config(const std::vector<ForeignKey>& keys, const std::string& trainer,
                         std::optional<int64_t> num_ranks);

/// Returns the command of `script` that starts a trainer: the only one, or number `pick` (from 1). The launcher's
/// number of processes becomes its first key (num_processes). UserError: there is no such command, there are several
/// (all are listed), or it starts another kind of training.
ForeignLaunch choose_launch(const ForeignScript& script, const std::string& origin, std::optional<int64_t> pick);

/// Returns "verl", "trl", ...
std::vector<std::string> foreign_trainer_names();

}  // namespace roll
