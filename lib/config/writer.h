// Writes a configuration struct as YAML: every key with its value, in the order of fields(). It reads back unchanged.
#pragma once

#include <string>

#include "config/from_env.h"
#include "config/member.h"

namespace roll {

/// Returns YAML that reads back as this text: plain if that is safe, else in double quotes with `${` escaped.
std::string yaml_text(const std::string& text);
/// Returns the text in double quotes, with interpolations kept.
std::string quoted_yaml(const std::string& text);
/// Returns the value of a key that is not a group, on one line.
std::string yaml_value(const AnyMember& member);

/// Returns the keys of a group as YAML. Values from the environment are written as their interpolations.
std::string to_yaml(const AnyMember& config, const FromEnv& from_env = {});

}  // namespace roll
