// Generates command-line flags from a struct's fields() (config/keys.h): the key top_p becomes --top-p, with the key's
// description, default, choices and range.
#pragma once

#include <CLI/CLI.hpp>
#include <set>
#include <string>

#include "config/member.h"
#include "config/node.h"

namespace roll {

/// Adds a flag to `sub` for each key of the struct that `args` refers to, except the keys in `left_out` and nested
/// structs. Parsing writes the values into the struct, which must outlive `sub`. It throws UserError for a wrong type
/// or a number out of range. --help shows the struct's values before parsing as defaults. The key's own spelling,
/// --top_p, works as well.
void add_field_flags(CLI::App& sub, const AnyMember& args, const std::set<std::string>& left_out = {});

/// Returns the flag's name for a key, without the leading "--"; underscores in it become dashes.
using FlagNames = std::string(const std::string& key);

/// Like add_field_flags(), for a struct in which the value of one key decides which other keys fields() declares (such
/// as a reward's `type`). Adds a flag for every key that `defaults` declares; its values are shown as defaults. Parsing
/// only stores the given flags in `given`, a mapping from key to text, which must outlive `sub`. Afterwards the caller
/// fills a struct from `given` by read_flags() (config/flag.h). That checks the values and refuses keys that the chosen
/// type does not have.
void gather_field_flags(CLI::App& sub, const AnyMember& defaults, Node& given, const std::set<std::string>& left_out,
                        FlagNames& flag_name);

}  // namespace roll
