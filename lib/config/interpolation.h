// OmegaConf's `${...}`: references to other keys (`${a.b}`, `${.sibling}`, `${..uncle}`, `${list[0]}`), the environment
// (`${oc.env:NAME}`, `${oc.env:NAME,default}`), any of them nested or inside of a text; `\${` is a plain `${`.
#pragma once

#include <string>
#include <vector>

#include "config/node.h"

namespace roll {

/// Replaces every interpolation below `root`. One that fails (unknown key, unset variable, a cycle, malformed) leaves
/// its node with `error` set, which the reader of that key reports: what nobody reads may hold anything. Names that
/// only a file of Hydra's `defaults:` list could define (`${deepspeed_zero3}`) become empty mappings, that one
/// what it is named after; each such reference is reported in `notes`. UserError when the interpolations together grow
/// without bounds. Text from the environment keeps its origin beside it (Node::env_text).
void interpolate(Node& root, std::vector<std::string>& notes);

/// The text as one that interpolate() gives back as it is.
std::string escaped_interpolations(const std::string& text);

}  // namespace roll
