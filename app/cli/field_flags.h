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
/// structs. The flag works in the key's own spelling, too: --top_p. --help shows the struct's present values as
/// defaults. Parsing writes the values into the struct, which must outlive `sub`. Parsing throws UserError if a value
/// has the wrong type or is out of range.
void add_field_flags(CLI::App& sub, const AnyMember& args, const std::set<std::string>& left_out = {});

/// Type of a function that gets a key and returns its flag's name, without the leading "--". gather_field_flags()
/// replaces underscores in the name by dashes; the flag works with underscores, too.
using FlagNames = std::string(const std::string& key);

/// Like add_field_flags(), for a struct in which the value of one key (such as a reward's `type`) decides which other
/// keys fields() declares. `defaults`: such a struct with that key unset, so that fields() declares the keys of all
/// types; each gets a flag, and --help shows the values as defaults. `flag_name` is called for each key. Parsing checks
/// nothing: it stores the texts of the given flags in `given`, a mapping by key (not by flag name), which must outlive
/// `sub`. Afterwards the caller fills a struct from `given` by read_flags() (config/flag.h). That checks the values and
/// refuses keys that the chosen type does not have.
void gather_field_flags(CLI::App& sub, const AnyMember& defaults, Node& given, const std::set<std::string>& left_out,
                        FlagNames& flag_name);

}  // namespace roll
