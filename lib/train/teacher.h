// The frozen model of a distillation: what it thinks likely at each position of written answers.
#pragma once

#include <filesystem>

#include "dist/mesh.h"
#include "model/transformer.h"
#include "settings/distill_config.h"
#include "step/batches.h"
#include "step/redistribution.h"
#include "track/progress.h"

namespace roll {

class Teacher {
 public:
  /// On the ranks of `meshes`, which share it out as its own keys say. `vocabulary`: the student's tokens. `config`
  /// must outlive it. **Collective**. UserError of the loader.
  Teacher(const DistillConfig& config, int64_t vocabulary, at::Device device, Meshes& meshes);

  /// [T, 2k] as Batch::taught has it, over this rank's sequences in `home`, of a batch that every rank has: log-probs
  /// at both temperatures. **Collective** over `ranks`.
  at::Tensor taught(const Batch& batch, const Distribution& home, Communicator& ranks, const Phase& phase) const;

 private:
  at::Tensor compute(const Batch& micro_batch) const;

  const DistillConfig& config_;
  int64_t vocabulary_, num_tokens_;  // of the student; that are compared
  Mesh& mesh_;
  Transformer model_;
};

}  // namespace roll
