// Reads another trainer's settings as flat keys, from YAML or the words of a command, for all converters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roll {

/// Key of another trainer, its value, and where it was given.
struct ForeignKey {
  std::string key;      // "data.train_batch_size", "rollout-batch-size" (a flag without dashes)
  std::string value;    // without quotes; several words are joined by blanks; a bare flag: "true"
  std::string place;    // file and line: "run.sh:14"
  std::string unknown;  // first part known only at run time, left out of `value`: "$(date +%F) (run.sh:3)"; else empty
};

/// Returns every scalar and list of a YAML file as a key, its path joined by dots. `origin` is the file's name in
/// messages. Throws UserError if the text is not a YAML mapping.
std::vector<ForeignKey> read_yaml_keys(std::string_view text, const std::string& origin);

/// Word of a command that starts a trainer; place and unknown are as in ForeignKey.
struct ArgumentWord {
  std::string text;  // the expanded word, without parts known only at run time; unset variables: ${oc.env:NAME}
  std::string place;
  std::string unknown;
};

/// Returns the settings among a command's words: key=value words whose key has a dot (without Hydra's leading +), and
/// flags. A flag is "--flag=value", or "--flag" and the words after it as value. Repeated keys are all returned; other
/// words are skipped. Throws UserError for a word that is known only at run time and may be any key.
std::vector<ForeignKey> read_argument_keys(const std::vector<ArgumentWord>& words);

}  // namespace roll
