// Reads another trainer's settings as flat keys, from YAML or the words of a command, for all converters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roll {

/// Key of another trainer, with its value and place.
struct ForeignKey {
  std::string key;      // "data.train_batch_size", "rollout-batch-size" (a flag without its dashes)
  std::string value;    // without quotes; several words are joined by blanks; a bare flag: "true"
  std::string place;    // "run.sh:14"
  std::string unknown;  // parts known only at run time, left out of the value: "$(date +%F) (run.sh:3)"
};

/// Returns every leaf of a YAML file, its path joined by dots. UserError: the text is no YAML mapping.
std::vector<ForeignKey> read_yaml_keys(std::string_view text, const std::string& origin);

/// Word of a command that starts a trainer.
struct ArgumentWord {
  std::string text;
  std::string place;
  std::string unknown;
};

/// Returns key=value words whose key has a dot (Hydra's + is allowed) and flags with the words after them. UserError: a
/// word is known only at run time and may be any key.
std::vector<ForeignKey> read_argument_keys(const std::vector<ArgumentWord>& words);

}  // namespace roll
