// The packing of a run before it runs: every batch of every role is planned by the functions that training plans with,
// so that the numbers are those that a training reports on the same sequences.
#pragma once

#include <optional>

#include "model/spec.h"
#include "packing/report.h"
#include "preview/length_sources.h"
#include "settings/config.h"

namespace roll {

/// Sizes of the models whose sequences are planned.
struct RoleSpecs {
  ModelSpec actor;
  std::optional<ModelSpec> reference, critic;  // where the configuration uses them
};

/// From the config.json of each role's model. UserError: a folder or file that is missing or unusable.
RoleSpecs role_specs(const Config& config);

struct PreviewOptions {
  int64_t num_ranks = 1;
  std::optional<double> memory_bytes;  // of a rank: the suggested budget is the largest that fits
};

/// `config` as load_config() completes it. UserError: a sequence over the budget (stage, step and sequence are named),
/// sequences that do not fill whole mini-batches.
PackReport pack_preview(const Config& config, const RoleSpecs& specs, const LengthSource& source,
                        const PreviewOptions& options);

}  // namespace roll
