// `roll validate-config --simulate`: forecasts a training step for other numbers of ranks.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "forecast/simulation.h"

namespace roll {

struct SimulateFlags {
  std::vector<int64_t> ranks;  // empty: no simulation
  std::string arch, rollouts, device;
  std::optional<double> mean, std;
  std::optional<int64_t> step;
  bool keeps_batch = false, json = false;
  SimulatedMachine machine;
};

/// Adds the flags; `flags` must outlive the parsing.
void add_simulate_flags(CLI::App& sub, SimulateFlags& flags);

/// Prints the forecasts. UserError: the configuration is not of `roll train`, flags contradict each other, or as
/// Simulator (forecast/simulation.h).
void simulate(const SimulateFlags& flags, const std::string& file, const std::vector<std::string>& overrides,
              std::optional<int64_t> num_ranks);

}  // namespace roll
