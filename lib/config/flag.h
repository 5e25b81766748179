// Keys of fields() outside of a file: as a tool's flags, and in structs that code has filled.
#pragma once

#include <string>

#include "config/keys.h"
#include "config/node.h"

namespace roll {

/// The text of a flag as a file's scalar.
Node scalar_of_flag(const std::string& text);

/// Adds a key to the mapping `given`. The last value of a key counts.
void give_flag(Node& given, const std::string& key, Node value);

/// Reads the text of a flag as a file's scalar is read, interpolations included. UserError "--top-p = 2: must be above
/// 0 and at most 1".
void read_flag(const std::string& flag, const std::string& text, const AnyMember& member, const Range& range);

/// Reads gathered keys as a file's mapping is read. UserError "--world_size = 0: must be in 1..1024"; `prefix` opens
/// it.
void read_flags(const Node& given, const AnyMember& args, const std::string& prefix = "--");

/// UserError "key = value: rule" for the first number that is out of its range.
void check_ranges(const AnyMember& config);

}  // namespace roll
