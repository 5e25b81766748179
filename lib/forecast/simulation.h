// Simulates a configuration at a number of ranks that need not exist (`--simulate`): traffic, memory, sockets, and the
// time of each phase on machines of given speeds.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "forecast/model_trial.h"
#include "forecast/scaled_config.h"
#include "forecast/step_forecast.h"
#include "forecast/timeline.h"
#include "preview/length_sources.h"
#include "preview/pack_preview.h"

namespace roll {

/// Speed of a phase measured on a machine (forecast/model_trial.h), in place of data-sheet values.
struct PhaseSpeed {
  double flops_per_s = 0;
  double update_s = 0;  // optimizer update of the role that the phase trains
};
struct MeasuredSpeeds {
  std::map<std::string, PhaseSpeed> phases{};  // every phase that computes in a model
  SamplingSpeed sampling{};
};

/// Speeds of a rank and its full-duplex links. The defaults are data-sheet values of an H100 in a host of eight.
struct SimulatedMachine {
  double tflops = 989, mfu = 0.4;                                // bf16 products, and the share that is reached
  double gbps_memory = 3350, gbps_intra = 450, gbps_inter = 50;  // GB/s: memory, within a host, between hosts
  int64_t ranks_per_host = 8;
  double gb_memory = 80;  // per rank
  std::optional<MeasuredSpeeds> measured{};
};

/// Arguments of a simulation.
struct SimulationRequest {
  ScaleRequest scale;
  std::string arch;                               // shape of all models; "": known_shape() the configured ones
  std::optional<std::filesystem::path> rollouts;  // recorded lengths; unset: assumed lengths
  std::optional<ThinStep> lengths{};              // given lengths, used first
  std::optional<double> mean, std;                // assumed lengths; defaults: response_length / 4, and the mean
  std::optional<int64_t> step;
  std::optional<bool> on_gpu;  // default: true if actor_train has a device_mapping
  SimulatedMachine machine;
};

/// Bytes per rank in one direction.
struct RankBytes {
  int64_t mean = 0, most = 0;
  int64_t first = 0;  // rank 0
};

/// Traffic and time of one phase of a step.
struct PhaseSimulation {
  std::string name;
  std::map<std::string, RankBytes> sent, received;  // keyed by group and collective: "shards/reduce_scatter"
  std::map<std::string, int64_t> calls;             // same keys; number of collectives of the rank with most
  RankBytes all_sent, all_received;
  double compute_s = 0, memory_s = 0, traffic_s = 0;  // each: of the rank with the largest value
  double seconds = 0;                                 // slowest rank's total
  double idle_share = 0;                              // mean idle share of pipeline stages
  std::vector<double> rank_seconds{};                 // [running rank]
};

/// Result of a simulation.
struct Simulation {
  int64_t num_ranks = 1, num_planned = 1;
  int64_t num_running = 1;  // ranks that run, out of num_planned
  int64_t step = 1, num_prompts = 0, num_sequences = 0;
  double mean_length = 0;
  int64_t most_sockets = 0;
  std::vector<std::pair<std::string, MemoryEstimate>> memory;  // (ranks in words, memory per rank)
  std::vector<PhaseSimulation> phases;                         // in the order of a step
  Timeline timeline;
  int64_t largest_message = 0;
  std::string largest_key;
  std::vector<std::string> notes;

  /// Returns the longest phase.
  const PhaseSimulation& bottleneck() const;
};

class Simulator {
 public:
  /// UserError: load_config() refuses the configuration.
  explicit Simulator(SimulationRequest request);
  /// Returns true if at() takes at most seconds. UserError as at().
  bool is_quick(int64_t num_ranks) const;
  /// Returns the simulated step for a configuration. UserError: its recorded lengths cannot be read.
  ThinStep make_thin_step(const Config& config) const;
  /// Simulates a step. UserError: ScaledConfig::at() fails, models have unknown shapes or do not split over the ranks,
  /// lengths cannot be read, or a rank has too many tokens.
  Simulation at(int64_t num_ranks) const;

 private:
  SimulationRequest request_;
  ScaledConfig scaled_;
};

Json to_json(const Simulation& simulation);
std::string to_text(const Simulation& simulation, const SimulatedMachine& machine);

}  // namespace roll
