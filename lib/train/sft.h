// Supervised fine-tuning: the same learner, packing and loss aggregation as RLVR, over rows instead of rollouts.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/log.h"
#include "dist/communicator.h"
#include "settings/sft_config.h"

namespace roll {

struct SftOptions {
  std::filesystem::path model_folder;
  std::string resolved_config;  // YAML, for the run folder
  at::Device device = at::kCPU;
};

class SftPipeline {
 public:
  /// Loads model and rows. UserError: see roles.h, sft_rows.h; fewer rows than one update needs.
  SftPipeline(const SftConfig& config, SftOptions options, Communicator& ranks, Log& log);
  ~SftPipeline();

  /// max_steps updates, or num_train_epochs passes; each pass in an order named by (seed, epoch). The last rows of a
  /// pass that do not fill an update open the next one. **Collective**. Stopped when a signal came.
  void run();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace roll
