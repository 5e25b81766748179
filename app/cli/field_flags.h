// Generates command-line flags from a struct's fields(): the key top_p becomes --top-p, with the key's description,
// default, choices and range.
#pragma once

#include <CLI/CLI.hpp>
#include <set>
#include <string>

#include "config/member.h"
#include "config/node.h"

namespace roll {

/// Adds a flag for each key of a group, except those in `left_out`, and sets `args` from them. The key's spelling,
/// --top_p, works as well. `args` must outlive the parsing.
void add_field_flags(CLI::App& sub, const AnyMember& args, const std::set<std::string>& left_out = {});

/// Maps a key to its flag's name without dashes.
using FlagNames = std::string(const std::string& key);

/// Adds flags for a struct in which one key decides which other keys exist. The values are collected in `given`, from
/// which read_flags() later fills a struct. `given` must outlive the parsing. `flag_name` returns a key's flag.
void gather_field_flags(CLI::App& sub, const AnyMember& defaults, Node& given, const std::set<std::string>& left_out,
                        FlagNames& flag_name);

}  // namespace roll
