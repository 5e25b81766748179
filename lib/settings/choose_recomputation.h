// With how few layers that backward computes again training fits the memory that there is.
#pragma once

#include <string>
#include <vector>

#include "settings/distill_config.h"
#include "settings/memory_estimate.h"

namespace roll {

/// Whether a role that is trained leaves to the machine which layers backward computes again.
bool chooses_recomputation(const Config& config);
bool chooses_recomputation(const SftConfig& config);

/// There puts the fewest layers with which training fits into `bytes`, which each rank has, the estimate's error
/// included; all of them where even these do not fit. A line for each such role says so.
std::vector<std::string> choose_recomputation(Config& config, const RoleShapes& models, bool on_gpu, double bytes);
/// The same for fine-tuning, and for preferences, where `reference` is the other model.
std::vector<std::string> choose_recomputation(SftConfig& config, const RoleShapes& models, bool on_gpu, double bytes);
std::vector<std::string> choose_recomputation(DpoConfig& config, const RoleShapes& models, bool on_gpu, double bytes);
/// And for distillation, where it is the teacher.
std::vector<std::string> choose_recomputation(DistillConfig& config, const RoleShapes& models, bool on_gpu,
                                              double bytes);

/// What choose_recomputation() would come to, in words: a line for each such role.
std::vector<std::string> recomputation_text(const Config& config, const RoleShapes& models, bool on_gpu);

}  // namespace roll
