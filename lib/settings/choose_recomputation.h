// Chooses how many layers the backward pass recomputes so that training fits in memory (recompute_method: auto).
#pragma once

#include <string>
#include <vector>

#include "settings/distill_config.h"
#include "settings/memory_estimate.h"

namespace roll {

/// Return true if a trained role has recompute_method: auto.
bool chooses_recomputation(const Config& config);
bool chooses_recomputation(const RowConfig& config);

/// Sets recompute_num_layers of each trained role with recompute_method: auto. It takes the fewest layers with which
/// training fits into `bytes` per rank, estimation error included; all layers if nothing fits. Returns a line per role.
/// The overloads serve `roll sft`, `roll dpo` (with the reference) and `roll distill` (with the teacher).
std::vector<std::string> choose_recomputation(Config& config, const RoleShapes& models, bool on_gpu, double bytes);
std::vector<std::string> choose_recomputation(RowConfig& config, const RoleShapes& models, bool on_gpu, double bytes);
std::vector<std::string> choose_recomputation(DpoConfig& config, const RoleShapes& models, bool on_gpu, double bytes);
std::vector<std::string> choose_recomputation(DistillConfig& config, const RoleShapes& models, bool on_gpu,
                                              double bytes);

/// Returns a line per role with recompute_method: auto: the memory of training with no layer and with all recomputed.
std::vector<std::string> recomputation_text(const Config& config, const RoleShapes& models, bool on_gpu);

}  // namespace roll
