// Another trainer's settings as flat keys, from its YAML or the words of its command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roll {

struct ForeignKey {
  std::string key;  // "data.train_batch_size", "rollout-batch-size" (a flag without its dashes)
  std::string
      value;  // as YAML or the shell writes it, without quotes; several words with blanks between; a switch: "true"
  std::string place;    // "run.sh:14"
  std::string unknown;  // what of the value only a run would tell, and is left out of it: "$(date +%F) (run.sh:3)"
};

/// YAML: every leaf, its path with dots. UserError: no YAML, or no mapping.
std::vector<ForeignKey> keys_of_yaml(std::string_view text, const std::string& origin);

/// A word of a command that starts a trainer.
struct ArgumentWord {
  std::string text;
  std::string place;
  std::string unknown;
};

/// key=value words whose key has a dot, perhaps with Hydra's + before it, and flags with the words behind them.
/// UserError: a word that may be any key, as what it says is not known.
std::vector<ForeignKey> keys_of_words(const std::vector<ArgumentWord>& words);

}  // namespace roll
