// Resolves OmegaConf's `${...}`: references to other keys (`${a.b}`, `${.sibling}`, `${..uncle}`, `${list[0]}`) and the
// environment (`${oc.env:NAME}`, `${oc.env:NAME,default}`), also nested or inside text; `\${` is a literal `${`.
#pragma once

#include <string>
#include <vector>

#include "config/node.h"

namespace roll {

/// Replaces every interpolation in `root`. A failure (unknown key, unset variable, cycle, malformed) sets the node's
/// `error`, which is reported only if the key is read. Names that only a file of Hydra's `defaults:` list could define
/// become empty mappings (`${deepspeed_zero3}`: reshard_after_forward: true) and are reported in `notes`. Text from the
/// environment keeps its origin in Node::env_text. UserError: the interpolations together exceed a limit on work.
void interpolate(Node& root, std::vector<std::string>& notes);

/// Escapes `${` in the text, so that interpolate() returns it unchanged.
std::string escaped_interpolations(const std::string& text);

}  // namespace roll
