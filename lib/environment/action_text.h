// Finds the action in a model's message, and writes the instructions of the built-in games, as ROLL does. The action is
// the text that the last group of the key action_pattern matches, without outer blanks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/regex.h"

namespace roll {

/// Names of a game's actions, or symbols or meanings of its cells. The key is the number of the action or cell.
using Names = std::map<int64_t, std::string>;

/// Not thread-safe.
class ActionText {
 public:
  /// `pattern`: PCRE2 expression (action_pattern). `where`: prefix of the configuration key in error messages. Throws
  /// UserError if the pattern does not compile or has no group.
  ActionText(const std::string& pattern, const std::string& where);

  /// Returns the action of the first match; nullopt if the pattern does not match, its last group is unset, or matching
  /// costs too much (base/regex.h).
  std::optional<std::string> find(std::string_view message);
  /// Returns the key in `names` of the action's name, compared without regard to ASCII case; nullopt if there is no
  /// action or no such name.
  std::optional<int64_t> find(std::string_view message, const Names& names);

 private:
  Regex regex_;
  MatchMemory memory_;
};

/// Returns the names of a game after the user's changes. `defaults`: the game's own names. `replacements`: the user's
/// names; the keys are numbers as text. `where`: configuration key, the start of error messages. Throws UserError if a
/// number is not in `defaults`, or a name is empty.
Names renamed(const Names& defaults, const std::map<std::string, std::string>& replacements, const std::string& where);

/// Returns the legend of a grid's symbols, such as "#: wall, _: empty". `meanings`: default meanings, with the same
/// keys as `symbols`. `replacements`: the user's meanings; the keys are symbols.
std::string vocabulary(const Names& symbols, const Names& meanings,
                       const std::map<std::string, std::string>& replacements);

/// Returns ROLL's instruction for a grid game: `rules`, then `symbols` (from vocabulary()) and the names of all
/// actions. Returns "" if `rules` is empty.
std::string grid_instruction(const std::string& rules, const std::string& symbols, const Names& actions);

}  // namespace roll
