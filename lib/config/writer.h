// Struct -> YAML: every key with its value, in the order of fields(). Reading it back gives the same struct.
#pragma once

#include <string>

#include "config/from_env.h"
#include "config/member.h"

namespace roll {

/// A scalar as YAML that reads back as this text: plain where that is safe, in double quotes otherwise.
std::string yaml_text(const std::string& text);
/// In double quotes, interpolations kept.
std::string quoted_yaml(const std::string& text);
/// The value of a key that is no group, on one line.
std::string yaml_value(const AnyMember& member);

/// The keys of a group as YAML; what came from the environment is written as the interpolation that it was.
std::string to_yaml(const AnyMember& config, const FromEnv& from_env = {});

}  // namespace roll
