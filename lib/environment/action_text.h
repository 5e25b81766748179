// The action in a model's message, as ROLL finds it: the last group of a pattern, without the space around it, which
// must be a name that is known, in either case.
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
  /// `where` opens the UserError of a pattern that does not compile or has no group.
  ActionText(const std::string& pattern, const std::string& where);

  /// What the message says; nothing where it does not match, or matching costs too much.
  std::optional<std::string> find(std::string_view message);
  /// The number of the name that it says.
  std::optional<int64_t> find(std::string_view message, const Names& names);

 private:
  Regex regex_;
  MatchMemory memory_;
};

/// `own`, with what is given by number in its place. UserError "where key": a number that `own` lacks.
Names renamed(const Names& own, const std::map<std::string, std::string>& given, const std::string& where);

/// "#: wall, _: empty": each symbol with its meaning; `meanings` by number, `given` by symbol.
std::string vocabulary(const Names& symbols, const Names& meanings, const std::map<std::string, std::string>& given);

/// ROLL's words around the rules of a game on a grid; none around none.
std::string grid_instruction(const std::string& rules, const std::string& symbols, const Names& actions);

}  // namespace roll
