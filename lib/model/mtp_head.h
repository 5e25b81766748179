// Describes multi-token-prediction heads, without weights (mtp.h).
#pragma once

#include <string>
#include <vector>

#include "model/spec.h"

namespace roll {

/// Description of a head.
struct MtpHead {
  std::string prefix;        // names of its parts begin with it
  std::string layer_prefix;  // names of its layer's parts begin with it
  LinearShape projection;
  NormShape embedding_norm, hidden_norm, norm;
  Layer layer;
};

/// Describes the head of a model. spec.architecture->mtp must be set.
MtpHead describe_mtp(const ModelSpec& spec);

/// Returns the head's parameters, as policy_parameters() has them if spec.trains_mtp is set.
std::vector<ParameterShape> mtp_parameters(const ModelSpec& spec);

}  // namespace roll
