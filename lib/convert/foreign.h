// Another trainer's settings as flat keys, from its YAML, from a shell script that starts it, or from its command line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roll {

struct ForeignKey {
  std::string key;  // "data.train_batch_size", "rollout-batch-size" (a flag without its dashes)
  std::string
      value;  // as YAML or the shell writes it, without quotes; several words with blanks between; a switch: "true"
  std::string place;  // "run.sh:14"
};

/// YAML: every leaf, its path with dots. UserError: no YAML, or no mapping.
std::vector<ForeignKey> keys_of_yaml(std::string_view text, const std::string& origin);

/// A shell script, or the words of a command line: key=value words whose key has a dot, and flags with the words behind
/// them. Variables that the script sets itself are filled in; what else begins with $ stays as it is. UserError: bytes
/// that are no text; variables that grow without end.
std::vector<ForeignKey> keys_of_script(std::string_view text, const std::string& origin);

}  // namespace roll
