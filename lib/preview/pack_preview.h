// Plans for `roll pack-stats` how a run would pack sequences of given lengths into micro-batches. It uses the trainer's
// own functions, so the numbers are those of a training on such sequences.
#pragma once

#include <optional>

#include "model/spec.h"
#include "packing/report.h"
#include "preview/length_sources.h"
#include "settings/by_role.h"
#include "settings/config.h"

namespace roll {

/// Shapes of all models that the configuration uses. If any shape is unknown, `shapes` is empty, and work is counted
/// in tokens, not FLOPs.
struct RoleSpecs {
  RoleShapes shapes{};               // by role
  std::vector<std::string> notes{};  // lines for the report: the source of the shapes, or the effect of missing ones
  std::string why_unknown{};         // reason why there are no shapes; "" if there are

  bool are_known() const { return !shapes.empty(); }
};

/// Returns the shapes. If `arch` is not "", all roles have the well-known shape of that name (model/known_shapes.h).
/// Otherwise reads each role's config.json, or takes the well-known shape of the model's name if the model is not on
/// this machine. Throws UserError if a config.json is not usable or `arch` is unknown.
RoleSpecs role_specs(const Config& config, const std::string& arch);

/// Plans all batches of the steps in `source` and compares token budgets (budget_table.h). `config` must come from
/// load_config(). `memory_bytes`: memory of a rank, for the suggested budget; unset: unknown. Throws UserError if a
/// sequence has more tokens than the budget; the message names stage, step and sequence. Also throws if the sequences
/// do not fill whole mini-batches, or if memory_bytes is set without known shapes.
PackReport pack_preview(const Config& config, const RoleSpecs& specs, const LengthSource& source,
                        std::optional<double> memory_bytes);

}  // namespace roll
