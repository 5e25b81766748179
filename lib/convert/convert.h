// A configuration of verl, TRL, slime or OpenRLHF as one of ours. Rows for their keys: verl.cpp, trl.cpp, slime.cpp,
// openrlhf.cpp.
//
// Goals: the same training, with the other trainer's defaults written out; no key dropped in silence. Non-goals: their
// Python (reward functions, data sources), and rows, which have columns of their own here.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "convert/launch.h"

namespace roll {

struct Converted {
  std::string trainer;                   // "verl"
  std::string command;                   // of ours, which reads it: "train", "sft", "dpo"
  std::string yaml;                      // with a comment for each key, and the two lists below as its head
  std::vector<std::string> differences;  // what means something else here
  std::vector<std::string> without;      // keys without counterpart, each with its place and the reason
};

/// `trainer`: one of their names, or "auto": the one that knows most of the keys. `num_ranks`: where the keys do not
/// say it. UserError, with the place of what is wrong: no keys; none that is known to any; a number that is none, or
/// that only a run of a script would tell; a training of another kind; a number of GPUs that nobody says.
Converted convert_config(const std::vector<ForeignKey>& keys, const std::string& trainer,
                         std::optional<int64_t> num_ranks);

/// The command of `script` that starts a trainer: the only one, or the `pick`th, from 1. Its keys begin with those of
/// what starts it (num_processes). UserError: there is none, or there are several, which are listed; it starts a
/// training of another kind.
ForeignLaunch choose_launch(const ForeignScript& script, const std::string& origin, std::optional<int64_t> pick);

/// "verl", "trl", ...
std::vector<std::string> foreign_trainer_names();

}  // namespace roll
