// Plans the packing of a run for `roll pack-stats`. It uses the trainer's own functions, so the numbers match those of
// a training on the same sequences.
#pragma once

#include <optional>

#include "model/spec.h"
#include "packing/report.h"
#include "preview/length_sources.h"
#include "settings/by_role.h"
#include "settings/config.h"

namespace roll {

/// Shapes of all models that the configuration uses, or none. Without shapes, work is counted in tokens.
struct RoleSpecs {
  RoleShapes shapes{};
  std::vector<std::string> notes{};  // source of the shapes, or the effect of missing ones
  std::string why_unknown{};         // reason for missing shapes

  bool are_known() const { return !shapes.empty(); }
};

/// Returns known_shape(arch) for all roles if `arch` is set. Otherwise reads each role's config.json, or takes the
/// known shape of that name if the model is not on this machine. UserError: an unusable file, an unknown `arch`.
RoleSpecs role_specs(const Config& config, const std::string& arch);

/// Plans all batches; `config` is completed by load_config(). UserError: a sequence exceeds the budget (names stage,
/// step and sequence), sequences do not fill whole mini-batches, or memory_bytes is set without known shapes.
PackReport pack_preview(const Config& config, const RoleSpecs& specs, const LengthSource& source,
                        std::optional<double> memory_bytes);

}  // namespace roll
