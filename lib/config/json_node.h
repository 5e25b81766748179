// JSON of others as the configuration's reader takes values: their types, ranges and messages are then a file's.
#pragma once

#include "base/json.h"
#include "config/member.h"
#include "config/node.h"

namespace roll {

/// Its scalars have no place.
Node node_of(const Json& value);

/// Reads the members of a JSON object. What looks like an interpolation stays text: whoever sends it is not whoever
/// runs the program. UserError "key = value: rule"; a key that fields() does not have, with the nearest.
void read_json_fields(const Json& object, const AnyMember& out);

}  // namespace roll
