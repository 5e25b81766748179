// Writes a configuration struct as YAML: every key with its value, in the order of fields() (keys.h). Reading the YAML
// gives the same configuration, except for secrets that are written as "(hidden)".
#pragma once

#include <string>

#include "config/from_env.h"
#include "config/member.h"

namespace roll {

/// Returns a YAML scalar whose value is `text`: without quotes if that is safe, else in double quotes with `${`
/// escaped.
std::string yaml_text(const std::string& text);
/// Returns `text` as a YAML scalar in double quotes; `${...}` in it stays an interpolation.
std::string quoted_yaml(const std::string& text);
/// Returns the value of a member that is not a group (AnyMember::is_group()), as YAML on one line.
std::string yaml_value(const AnyMember& member);

/// Returns the struct `config` as YAML. A value in `from_env` is written as its `${oc.env:NAME}`, and a secret as
/// "(hidden)".
std::string to_yaml(const AnyMember& config, const FromEnv& from_env = {});

}  // namespace roll
