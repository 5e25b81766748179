// What a configuration would do at a number of ranks that are not there: traffic, memory, sockets, and where its time
// would go on machines of given speeds.
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

/// What was measured of a machine (forecast/model_trial.h), in place of a data sheet.
struct PhaseSpeed {
  double flops_per_s = 0;
  double update_s = 0;  // of the role that the phase trains
};
struct MeasuredSpeeds {
  std::map<std::string, PhaseSpeed> phases{};  // of each that computes in a model
  SamplingSpeed sampling{};
};

/// A rank and its links, which carry as much in the other direction at the same time; the defaults are data-sheet
/// figures of an H100 in a host of eight.
struct SimulatedMachine {
  double tflops = 989, mfu = 0.4;  // bf16 products, and the share of them that work reaches
  double gbps_memory = 3350, gbps_intra = 450, gbps_inter = 50;  // 1e9 bytes a second: memory, within a host, between
  int64_t ranks_per_host = 8;
  double gb_memory = 80;  // of a rank
  std::optional<MeasuredSpeeds> measured{};
};

struct SimulationRequest {
  ScaleRequest scale;
  std::string arch;                               // of all models; "": shape_of() the configured ones
  std::optional<std::filesystem::path> rollouts;  // recorded lengths; else assumed ones
  std::optional<ThinStep> lengths{};              // or these
  std::optional<double> mean, std;                // of assumed ones; default: response_length / 4, and the mean
  std::optional<int64_t> step;
  std::optional<bool> on_gpu;  // default: whether roles name devices
  SimulatedMachine machine;
};

/// Bytes of a rank, in one direction.
struct RankBytes {
  int64_t mean = 0, most = 0;
  int64_t first = 0;  // rank 0
};

struct PhaseSimulation {
  std::string name;
  std::map<std::string, RankBytes> sent, received;  // by group and collective: "shards/reduce_scatter"
  std::map<std::string, int64_t> calls;             // likewise, collectives of the rank with most
  RankBytes all_sent, all_received;
  double compute_s = 0, memory_s = 0, traffic_s = 0;  // of the rank that takes longest of each
  double seconds = 0;                                 // of the rank that takes longest of all
  double idle_share = 0;               // of it, what stages of a pipeline have nothing to do, in the mean
  std::vector<double> rank_seconds{};  // [running rank]
};

struct Simulation {
  int64_t num_ranks = 1, num_planned = 1;
  int64_t num_running = 1;  // of those planned
  int64_t step = 1, num_prompts = 0, num_sequences = 0;
  double mean_length = 0;
  int64_t most_sockets = 0;
  std::vector<std::pair<std::string, MemoryEstimate>> memory;  // by ranks, in words
  std::vector<PhaseSimulation> phases;                         // in the order of a step
  Timeline timeline;
  int64_t largest_message = 0;
  std::string largest_key;
  std::vector<std::string> notes;

  /// The phase that takes longest.
  const PhaseSimulation& bottleneck() const;
};

class Simulator {
 public:
  /// UserError: load_config()'s, shape_of()'s, models of unknown shape.
  explicit Simulator(SimulationRequest request);
  /// Whether at() takes no more than seconds. UserError: as there.
  bool is_quick(int64_t num_ranks) const;
  /// The step that is planned, of a configuration at some number of ranks. UserError: those of its lengths.
  ThinStep step_of(const Config& config) const;
  /// UserError: ScaledConfig's, and those of the lengths; more tokens than a forecast has memory for.
  Simulation at(int64_t num_ranks) const;

 private:
  SimulationRequest request_;
  ScaledConfig scaled_;
};

Json to_json(const Simulation& simulation);
std::string to_text(const Simulation& simulation, const SimulatedMachine& machine);

}  // namespace roll
