// Chooses how many layers the backward pass recomputes so that training fits in memory (recompute_method: auto).
#pragma once

#include <string>
#include <vector>

#include "settings/distill_config.h"
#include "settings/memory_estimate.h"

namespace roll {

/// Return true if a trained role has recompute_method: auto, so that choose_recomputation() must be called.
bool chooses_recomputation(const Config& config);
bool chooses_recomputation(const RowConfig& config);

/// For each trained role with recompute_method: auto, sets recompute_method to block and recompute_num_layers to the
/// smallest number with which training fits into `bytes` of memory per rank, estimation error included; to all layers
/// if even that does not fit. `models`: shapes of the run's models; a role without one is left as it is. Returns a line
/// per role for the log. The overloads serve `roll train`, `roll sft`, `roll dpo` and `roll distill`.
std::vector<std::string> choose_recomputation(Config& config, const RoleShapes& models, bool on_gpu, double bytes);
std::vector<std::string> choose_recomputation(RowConfig& config, const RoleShapes& models, bool on_gpu, double bytes);
std::vector<std::string> choose_recomputation(DpoConfig& config, const RoleShapes& models, bool on_gpu, double bytes);
std::vector<std::string> choose_recomputation(DistillConfig& config, const RoleShapes& models, bool on_gpu,
                                              double bytes);

/// Returns, for each role with recompute_method: auto, a line with the memory of training if no layer is recomputed and
/// if all are.
std::vector<std::string> recomputation_text(const Config& config, const RoleShapes& models, bool on_gpu);

}  // namespace roll
