// Generates command-line flags from a struct's fields(): the key top_p becomes --top-p, with the key's description,
// default, choices and range.
#pragma once

#include <CLI/CLI.hpp>
#include <set>
#include <string>

#include "config/member.h"
#include "config/node.h"

namespace roll {

/// Flags of all keys of a group but those in `left_out`; each key's own spelling, --top_p, works as well. `args` must
/// outlive the parsing.
void add_field_flags(CLI::App& sub, const AnyMember& args, const std::set<std::string>& left_out = {});

/// Maps a key to its flag's name without dashes.
using FlagNames = std::string(const std::string& key);

/// Flags of a struct in which one key decides which others there are: they are only gathered in `given`, and then
/// read_flags() fills a struct from it. `given` must outlive the parsing. `flag_name` says how a key's flag is called.
void gather_field_flags(CLI::App& sub, const AnyMember& defaults, Node& given, const std::set<std::string>& left_out,
                        FlagNames& flag_name);

}  // namespace roll
