// Finds the action in a model's message as ROLL does, for the built-in games: the last group of a pattern, trimmed. It
// must be a known name, in either case.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/regex.h"

namespace roll {

using Names = std::map<int64_t, std::string>;

class ActionText {
 public:
  /// `where`: start of the UserError if the pattern does not compile or has no group.
  ActionText(const std::string& pattern, const std::string& where);

  /// Returns the action; nullopt if the pattern does not match, or matching costs too much.
  std::optional<std::string> find(std::string_view message);
  /// Returns the number of the named action; nullopt if there is none.
  std::optional<int64_t> find(std::string_view message, const Names& names);

 private:
  Regex regex_;
  MatchMemory memory_;
};

/// Returns `defaults` with names replaced by those in `replacements`, whose keys are numbers. UserError, starting with
/// `where`: `defaults` lacks a number, or a name is empty.
Names renamed(const Names& defaults, const std::map<std::string, std::string>& replacements, const std::string& where);

/// Returns "#: wall, _: empty": each symbol with its meaning, from `replacements` by symbol, else from `meanings` by
/// number.
std::string vocabulary(const Names& symbols, const Names& meanings,
                       const std::map<std::string, std::string>& replacements);

/// Returns ROLL's instruction for a grid game; "" if `rules` is empty.
std::string grid_instruction(const std::string& rules, const std::string& symbols, const Names& actions);

}  // namespace roll
