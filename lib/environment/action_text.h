// Finds the action in a model's message, and writes instructions, as ROLL does. For the built-in games. The action is
// the text of a pattern's last group, without outer blanks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/regex.h"

namespace roll {

/// Names of a game's actions, or symbols of its cells, by number.
using Names = std::map<int64_t, std::string>;

class ActionText {
 public:
  /// `pattern`: PCRE2 expression (action_pattern). `where`: prefix of the configuration key in error messages. Throws
  /// UserError if the pattern does not compile or has no group.
  ActionText(const std::string& pattern, const std::string& where);

  /// Returns the action of the first match; nullopt if the pattern does not match, or matching costs too much.
  std::optional<std::string> find(std::string_view message);
  /// Returns the number of the action, whose name is found in upper or lower case; nullopt if find() finds none or the
  /// name is not in `names`.
  std::optional<int64_t> find(std::string_view message, const Names& names);

 private:
  Regex regex_;
  MatchMemory memory_;
};

/// Returns the names of a game after the user's changes. `defaults`: the game's own names. `replacements`: the user's
/// names, by number as text. `where`: configuration key, the start of error messages. Throws UserError if a number is
/// not in `defaults`, or a name is empty.
Names renamed(const Names& defaults, const std::map<std::string, std::string>& replacements, const std::string& where);

/// Returns the legend of a grid's symbols, such as "#: wall, _: empty". `meanings`: default meanings, by number as
/// `symbols`. `replacements`: the user's meanings, by symbol.
std::string vocabulary(const Names& symbols, const Names& meanings,
                       const std::map<std::string, std::string>& replacements);

/// Returns ROLL's instruction for a grid game: `rules`, then `symbols` (from vocabulary()) and the names of all
/// actions. Returns "" if `rules` is empty.
std::string grid_instruction(const std::string& rules, const std::string& symbols, const Names& actions);

}  // namespace roll
