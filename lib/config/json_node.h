// Reads JSON from requests and data files into structs with fields(), with a configuration's type and range checks.
#pragma once

#include "base/json.h"
#include "config/member.h"
#include "config/node.h"

namespace roll {

/// Converts JSON to a configuration tree whose scalars have no place.
Node to_node(const Json& value);

/// Reads the members of a JSON object into `out`. Interpolations stay plain text, because the sender is not trusted.
/// UserError: wrong type or range ("key = value: rule"), or an unknown key, with the nearest known one.
void read_json_fields(const Json& object, const AnyMember& out);

}  // namespace roll
