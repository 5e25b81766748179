// Reads JSON from requests and data files into structs with fields() (config/keys.h), with the type and range checks of
// a configuration.
#pragma once

#include <string>

#include "base/json.h"
#include "config/member.h"
#include "config/node.h"

namespace roll {

/// Converts JSON to a configuration tree without places (lines and columns).
Node to_node(const Json& value);

/// Reads a JSON object into the struct `out`; a member whose key the object lacks keeps its value. `${...}` stays plain
/// text, because the sender is not trusted. Throws UserError if a value has the wrong type or is out of range ("key =
/// value: rule"), or a key is unknown (the message suggests the nearest). Errors name a key with `prefix` before it.
void read_json_fields(const Json& object, const AnyMember& out, const std::string& prefix = "");

}  // namespace roll
