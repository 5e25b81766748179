#include "model/model_parameters.h"

namespace roll {

std::vector<ParameterShape> policy_parameters(const ModelSpec& spec) {
  auto list = backbone_parameters(spec);
  if (!spec.tied_head) list.push_back(lm_head_parameter(spec));
  return list;
}

std::vector<ParameterShape> critic_parameters(const ModelSpec& spec) {
  auto list = backbone_parameters(spec);
  for (auto& parameter : value_head_parameters(spec)) list.push_back(std::move(parameter));
  return list;
}

}  // namespace roll
