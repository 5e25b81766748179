// A configuration's tree as JSON, for programs that know no YAML.
#pragma once

#include "base/json.h"
#include "config/node.h"

namespace roll {

/// Plain scalars become what they mean: null, true, false, numbers; others are texts.
Json to_json(const Node& node);

}  // namespace roll
