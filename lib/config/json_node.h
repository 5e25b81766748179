// Reads JSON from requests and data files into structs with fields() (config/keys.h), with the type and range checks of
// a configuration.
#pragma once

#include "base/json.h"
#include "config/member.h"
#include "config/node.h"

namespace roll {

/// Converts JSON to a configuration tree without places (lines and columns).
Node to_node(const Json& value);

/// Reads the members of a JSON object into the struct `out`; keys that the object lacks keep their values. `${...}`
/// stays plain text, because the sender is not trusted. Throws UserError if a value has the wrong type or is out of
/// range ("key = value: rule"), or a key is unknown (the message suggests the nearest).
void read_json_fields(const Json& object, const AnyMember& out);

}  // namespace roll
