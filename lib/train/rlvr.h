// The RLVR pipeline: rollout -> rewards -> log-probs and values -> advantages -> critic and actor updates, step by
// step. Every rank holds the whole step's experience (a few floats per token), so that statistics, shuffles and counts
// need no collective and cannot depend on the number of ranks; only forwards, gradients and sampling are shared out.
#pragma once

#include <memory>
#include <string>

#include "base/log.h"
#include "dist/communicator.h"
#include "settings/config.h"
#include "train/roles.h"

namespace roll {

struct RlvrOptions {
  RoleFolders folders;
  std::string resolved_config;  // YAML, for the run folder
  at::Device device = at::kCPU;
};

class RlvrPipeline {
 public:
  /// Loads models and data. **Collective** in that all ranks must construct it. UserError: see roles.h, prompts.h.
  RlvrPipeline(const Config& config, RlvrOptions options, Communicator& ranks, Log& log);
  ~RlvrPipeline();

  /// Runs max_steps steps with validations and checkpoints. **Collective**. Stopped when a signal came.
  void run();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace roll
