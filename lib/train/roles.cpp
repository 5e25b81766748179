#include "train/roles.h"

#include <ATen/ATen.h>

#include "base/error.h"

namespace roll {

at::ScalarType model_dtype(const ModelArgs& args, at::Device device) {
  const std::string name = args.dtype.value_or(device.is_cuda() ? "bf16" : "fp32");
  if (name == "fp32") return at::kFloat;
  // Recipes for GPUs name bf16; on the CPU the same recipe runs in float32, as config.md has it.
  if (!device.is_cuda()) return at::kFloat;
  return name == "bf16" ? at::kBFloat16 : at::kHalf;
}

Roles load_roles(const Config& config, const RoleFolders& folders, at::Device device) {
  Roles roles{.actor = Transformer::load(folders.actor, device, model_dtype(config.actor_train.model_args, device)),
              .reference = {},
              .critic = {}};
  if (config.uses_reference()) {
    roles.reference = Transformer::load(folders.reference, device, model_dtype(config.reference.model_args, device));
    for (auto& [name, tensor] : roles.reference->parameters()) tensor.set_requires_grad(false);
    if (roles.reference->spec().vocab_size != roles.actor.spec().vocab_size)
      throw user_error("reference {}: vocab_size = {}: must be the policy's, which is {}", folders.reference.string(),
                       roles.reference->spec().vocab_size, roles.actor.spec().vocab_size);
  }
  if (config.uses_critic()) {
    roles.critic = ValueModel::load(folders.critic, device, model_dtype(config.critic.model_args, device));
    if (roles.critic->spec().vocab_size != roles.actor.spec().vocab_size)
      throw user_error("critic {}: vocab_size = {}: must be the policy's, which is {}", folders.critic.string(),
                       roles.critic->spec().vocab_size, roles.actor.spec().vocab_size);
  }
  return roles;
}

void move_parameters(const NamedTensors& parameters, at::Device device) {
  const at::NoGradGuard no_grad;
  for (const auto& [name, tensor] : parameters) at::Tensor(tensor).set_data(tensor.to(device));
}

}  // namespace roll
