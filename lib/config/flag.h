// Reads and checks structs with fields() (config/keys.h) whose values come from command-line flags or code, not from a
// file.
#pragma once

#include <string>

#include "config/keys.h"
#include "config/node.h"

namespace roll {

/// Returns a flag's text as a YAML scalar. It has no place, so errors name only the flag.
Node flag_scalar(const std::string& text);

/// Sets a key in `given`, a mapping (or a new Node, which becomes one); replaces an earlier value.
void set_flag(Node& given, const std::string& key, Node value);

/// Reads a flag's text into `member` like a YAML scalar, with ${oc.env:NAME} resolved. `flag` names it in errors:
/// "--top-p". Throws UserError if the text has the wrong type or is out of `range` ("--top-p = 2: must be above 0 and
/// at most 1").
void read_flag(const std::string& flag, const std::string& text, const AnyMember& member, const Range& range);

/// Reads the mapping `given` (from set_flag()) into the struct `args` like a YAML mapping; keys that are not in it keep
/// their values. Errors name a key with `prefix` before it. Throws UserError if a value has the wrong type or is out of
/// range, or a key is unknown ("--world_size = 0: must be in 1..1024").
void read_flags(const Node& given, const AnyMember& args, const std::string& prefix = "--");

/// Checks every number in the struct `config` against the range of its key. Throws UserError "key = value: rule" for
/// the first one out of range.
void check_ranges(const AnyMember& config);

}  // namespace roll
