// Reads and checks keys of fields() outside of a file: a tool's flags, and structs that code has filled.
#pragma once

#include <string>

#include "config/keys.h"
#include "config/node.h"

namespace roll {

/// Returns the text of a flag as a YAML scalar.
Node flag_scalar(const std::string& text);

/// Adds a key to the mapping `given`, or replaces its value.
void set_flag(Node& given, const std::string& key, Node value);

/// Reads the text of a flag into `member` like a YAML scalar, with interpolations. UserError: wrong type or out of
/// `range` ("--top-p = 2: must be above 0 and at most 1").
void read_flag(const std::string& flag, const std::string& text, const AnyMember& member, const Range& range);

/// Reads the keys in `given` into `args` like a YAML mapping. UserError: wrong type, range or unknown key
/// ("--world_size = 0: must be in 1..1024"). Messages begin with `prefix`.
void read_flags(const Node& given, const AnyMember& args, const std::string& prefix = "--");

/// Checks every number against its key's range. UserError: a number is out of range ("key = value: rule").
void check_ranges(const AnyMember& config);

}  // namespace roll
