// The models of a run: the policy (trainer and sampler read the same tensors), its frozen copy, the critic.
#pragma once

#include <filesystem>
#include <optional>

#include "model/transformer.h"
#include "model/value_model.h"
#include "train/config.h"

namespace roll {

struct Roles {
  Transformer actor;
  std::optional<Transformer> reference;  // only when a KL to it is wanted
  std::optional<ValueModel> critic;      // only under gae
};

/// bf16 on a GPU and float32 on the CPU, unless model_args.dtype says otherwise. UserError: 16-bit numbers on the CPU.
at::ScalarType model_dtype(const ModelArgs& args, at::Device device);

struct RoleFolders {
  std::filesystem::path actor, reference, critic;
};

/// UserError of the loaders; or critic and policy whose vocabularies differ.
Roles load_roles(const Config& config, const RoleFolders& folders, at::Device device);

/// Moves the weights; the tensors stay the same objects.
void move_parameters(const NamedTensors& parameters, at::Device device);

}  // namespace roll
