// `roll validate-config --simulate`: forecasts a training step for other numbers of ranks.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "forecast/simulation.h"

namespace roll {

/// Values of the flags.
struct SimulateFlags {
  std::vector<int64_t> ranks;       // --simulate: numbers of ranks to forecast; empty: simulate() is not called
  std::string arch;                 // --arch: a config.json or known name for all models; "": the configured models
  std::string rollouts;             // --rollouts: run folder or step file with recorded lengths; "": rollout_replay,
                                    // and without that key, assumed lengths
  std::string device;               // --device: "cpu" or "cuda"; "": cuda if the configuration names devices
  std::optional<double> mean, std;  // --mean, --std: tokens of an assumed response, not together with `rollouts`;
                                    // unset: response_length / 4, and the mean
  std::optional<int64_t> step;      // --step: number of the training step; recorded lengths are those of this step;
                                    // unset: the first recorded, or with assumed lengths, the first after critic_warmup
  bool keeps_batch = false;         // --keep-batch: rollout_batch_size does not grow with the ranks
  bool json = false;                // --json: one JSON object per line
  SimulatedMachine machine;         // --tflops, --memory-gb and other speeds and sizes
};

/// Adds the flags to `sub`, which must have the flag --print already. `flags` must outlive the parsing.
void add_simulate_flags(CLI::App& sub, SimulateFlags& flags);

/// Prints a forecast for each of flags.ranks on standard output, notes on standard error. `file` is the configuration,
/// `overrides` its key=value pairs. `num_ranks` (-n) is the number of ranks that the configuration is written for;
/// nullopt: the number of devices in its roles' device_mapping, or 1. Throws UserError if the configuration is invalid,
/// not for `roll train`, or impossible on one of flags.ranks. Throws it, too, if flags contradict each other, or
/// recorded lengths cannot be read.
void simulate(const SimulateFlags& flags, const std::string& file, const std::vector<std::string>& overrides,
              std::optional<int64_t> num_ranks);

}  // namespace roll
