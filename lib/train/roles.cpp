#include "train/roles.h"

#include <ATen/ATen.h>

#include "base/error.h"
#include "checkpoint/hub_cache.h"

namespace roll {

at::ScalarType model_dtype(const ModelArgs& args, at::Device device) {
  switch (args.dtype.value_or(device.is_cuda() ? Dtype::kBf16 : Dtype::kFp32)) {
    case Dtype::kFp32:
      return at::kFloat;
    case Dtype::kBf16:
      return at::kBFloat16;
    case Dtype::kFp16:
      if (device.is_cpu())
        throw UserError("model_args.dtype = fp16: the CPU computes in fp32 or bf16; set one of them");
      return at::kHalf;
  }
  throw Bug("a dtype without its tensor type");
}

MeshShape mesh_shape(const StrategyArgs& strategy) {
  const StrategyConfig& sizes = strategy.strategy_config;
  return {.cp = sizes.context_parallel(), .tp = sizes.tensor_parallel()};
}

ModelParallel model_parallel(Mesh& mesh) {
  return {.tp = mesh.shape().tp > 1 ? &mesh.tp() : nullptr, .cp = mesh.shape().cp > 1 ? &mesh.cp() : nullptr};
}

RoleMeshes role_meshes(const Config& config, Meshes& meshes) {
  // The sampler's sequences are short to begin with and grow token by token: only its weights are shared out.
  return {.actor = meshes.of(mesh_shape(config.actor_train)),
          .reference = meshes.of(mesh_shape(config.reference)),
          .critic = meshes.of(mesh_shape(config.critic)),
          .sampler = meshes.of({.cp = 1, .tp = mesh_shape(config.actor_infer).tp})};
}

RoleFolders role_folders(const Config& config) {
  const auto folder = [](const WorkerConfig& worker) {
    return model_folder(worker.model_args.model_name_or_path.value());
  };
  RoleFolders folders{.actor = folder(config.actor_train), .reference = {}, .critic = {}};
  if (config.uses_reference()) folders.reference = folder(config.reference);
  if (config.uses_critic()) folders.critic = folder(config.critic);
  return folders;
}

Roles load_roles(const Config& config, const RoleFolders& folders, const RoleMeshes& meshes, at::Device device) {
  Roles roles{.actor = Transformer::load(folders.actor, device, model_dtype(config.actor_train.model_args, device),
                                         model_parallel(meshes.actor)),
              .reference = {},
              .critic = {},
              .sampler = {}};
  if (config.uses_reference()) {
    roles.reference = Transformer::load(folders.reference, device, model_dtype(config.reference.model_args, device),
                                        model_parallel(meshes.reference));
    for (auto& [name, tensor] : roles.reference->parameters()) tensor.set_requires_grad(false);
    if (roles.reference->spec().vocab_size != roles.actor.spec().vocab_size)
      throw user_error("reference {}: vocab_size = {}: must be the policy's, which is {}", folders.reference.string(),
                       roles.reference->spec().vocab_size, roles.actor.spec().vocab_size);
  }
  if (config.uses_critic()) {
    roles.critic = ValueModel::load(folders.critic, device, model_dtype(config.critic.model_args, device),
                                    model_parallel(meshes.critic));
    if (roles.critic->spec().vocab_size != roles.actor.spec().vocab_size)
      throw user_error("critic {}: vocab_size = {}: must be the policy's, which is {}", folders.critic.string(),
                       roles.critic->spec().vocab_size, roles.actor.spec().vocab_size);
  }
  if (meshes.sampler.shape().tp != meshes.actor.shape().tp)
    roles.sampler = Transformer::load(folders.actor, device, roles.actor.dtype(), model_parallel(meshes.sampler));
  return roles;
}

void reshard(const Transformer& from, Transformer& to) {
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < from.parameters().size(); ++i) {
    const auto& [name, part] = from.parameters()[i];
    at::Tensor target = to.parameters()[i].second;
    target.copy_(to.parts().cut(name, from.parts().gather(name, part)));
  }
  ROLL_CHECK_EQ(to.parts().checksum(to.parameters()), from.parts().checksum(from.parameters()),
                "the sampler has the trainer's weights");
}

void update_sampler(Roles& roles, Traffic& traffic) {
  if (!roles.sampler) return;
  traffic.set_phase("model_update");
  reshard(roles.actor, *roles.sampler);
}

void move_parameters(const NamedTensors& parameters, at::Device device) {
  const at::NoGradGuard no_grad;
  for (const auto& [name, tensor] : parameters) at::Tensor(tensor).set_data(tensor.to(device));
}

}  // namespace roll
