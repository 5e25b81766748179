// The packing of a run before it runs: every batch of every role is planned by the functions that training plans with,
// so that the numbers are those that a training reports on the same sequences.
#pragma once

#include <optional>

#include "model/spec.h"
#include "packing/report.h"
#include "preview/length_sources.h"
#include "settings/by_role.h"
#include "settings/config.h"

namespace roll {

/// Shapes of the models whose sequences are planned: those that the configuration uses, or none at all. Without them
/// work is counted in tokens.
struct RoleSpecs {
  RoleShapes shapes{};
  std::vector<std::string> notes{};  // where they come from, or what follows where there are none
  std::string why_unknown{};         // why there are none

  bool are_known() const { return !shapes.empty(); }
};

/// All of `arch` (see shape_of; "" when it is not given); else from the config.json of each role's model, or where it
/// is not on this machine, of the known shape of its name. UserError: a file that is unusable, an unknown `arch`.
RoleSpecs role_specs(const Config& config, const std::string& arch);

/// `config` as load_config() completes it. UserError: a sequence over the budget (stage, step and sequence are named),
/// sequences that do not fill whole mini-batches, memory_bytes without known shapes.
PackReport pack_preview(const Config& config, const RoleSpecs& specs, const LengthSource& source,
                        std::optional<double> memory_bytes);

}  // namespace roll
