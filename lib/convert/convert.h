// A configuration of verl, TRL, slime or OpenRLHF as one of ours. Rows for their keys: verl.cpp, trl.cpp, slime.cpp,
// openrlhf.cpp.
//
// Goals: the same training, with the other trainer's defaults written out; no key dropped in silence. Non-goals: their
// Python (reward functions, data sources), and rows, which have columns of their own here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "convert/foreign.h"

namespace roll {

struct Converted {
  std::string trainer;                   // "verl"
  std::string yaml;                      // with a comment for each key, and the two lists below as its head
  std::vector<std::string> differences;  // what means something else here
  std::vector<std::string> without;      // keys without counterpart, each with its place and the reason
};

/// `trainer`: one of their names, or "auto": the one that knows most of the keys. `num_ranks`: where the keys do not
/// say it. UserError: no keys; none that is known to any; a number that is none, with its place.
Converted convert_config(const std::vector<ForeignKey>& keys, const std::string& trainer, int64_t num_ranks);

/// "verl", "trl", ...
std::vector<std::string> foreign_trainer_names();

}  // namespace roll
