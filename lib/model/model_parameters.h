// All parameters of the two kinds of models, in the order in which they are held.
#pragma once

#include <vector>

#include "model/spec.h"

namespace roll {

/// Of a language model: the backbone's, and its head unless that is the embedding.
std::vector<ParameterShape> policy_parameters(const ModelSpec& spec);
/// Of a value model: the backbone's and the value head's.
std::vector<ParameterShape> critic_parameters(const ModelSpec& spec);

}  // namespace roll
