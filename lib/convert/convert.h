// Converts configurations of verl, TRL, slime and OpenRLHF to roll's YAML, for `roll convert-config`. The tables of
// their keys: verl.cpp, trl.cpp, slime.cpp, openrlhf.cpp.
//
// Goals: the same training, with the other trainer's defaults written out; no key dropped in silence. Non-goals:
// converting Python code (reward functions, data sources) or data files, whose rows need other columns in roll.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "convert/launch.h"

namespace roll {

/// Result of a conversion.
struct Converted {
  std::string trainer;                   // name of the source trainer: "verl"
  std::string command;                   // roll subcommand for the YAML: "train", "sft" or "dpo"
  std::string yaml;                      // text of the YAML file, with a comment per key; opens with the lists below
  std::vector<std::string> differences;  // sentences: settings that mean something else in roll
  std::vector<std::string> without;      // source keys that were not converted: "key = value (run.sh:3): reason"
};

/// Converts `keys`. `trainer` is one of foreign_trainer_names(), or "auto" for the trainer that knows most of the keys.
/// `num_ranks` (the flag -n) is used if the keys give no number of GPUs. Throws UserError (with file and line where
/// possible) if there are no keys, no trainer has such keys, or the keys ask for a training that roll cannot do. Also
/// throws it if a number is invalid or known only at run time, or the number of GPUs is needed but unknown.
Converted convert_config(const std::vector<ForeignKey>& keys, const std::string& trainer,
                         std::optional<int64_t> num_ranks);

/// Returns the command of `script` that starts a trainer. Without `pick`, it is the only one that can be converted;
/// with `pick` (--pick), the command of this number, from 1, among all that start a training. Adds keys that the
/// launcher's flags (torchrun, accelerate) and the program's name imply: num_processes, config_file, rloo_trainer.
/// `origin` is the script's name in messages. Throws UserError if there is no such command, if there are several and no
/// `pick` (all are listed), or if roll cannot do its training.
ForeignLaunch choose_launch(const ForeignScript& script, const std::string& origin, std::optional<int64_t> pick);

/// Returns the names that convert_config() takes: "verl", "trl", "slime", "openrlhf", "verl-sft", "trl-dpo", ...
std::vector<std::string> foreign_trainer_names();

}  // namespace roll
