// Resolves OmegaConf's `${...}`: references to other keys (`${a.b}`, `${.sibling}`, `${..uncle}`, `${list[0]}`) and the
// environment (`${oc.env:NAME}`, `${oc.env:NAME,default}`), also nested or inside text; `\${` is a literal `${`.
#pragma once

#include <string>
#include <vector>

#include "config/node.h"

namespace roll {

/// Replaces every interpolation in the tree `root`. If one fails (unknown key, unset variable, cycle, malformed), sets
/// the error of that node, which is reported only if the key is read. A name that only a file of Hydra's `defaults:`
/// list could define becomes an empty mapping, with a note in `notes`; but `${deepspeed_zero3}` becomes
/// {reshard_after_forward: true}. For text from the environment, Node::env_text keeps the `${oc.env:NAME}`. Throws
/// UserError if the interpolations together copy too many nodes (references that multiply).
void interpolate(Node& root, std::vector<std::string>& notes);

/// Returns the text with `${` escaped, so that interpolate() turns it back into `text`.
std::string escaped_interpolations(const std::string& text);

}  // namespace roll
