// Simulates a step of a configuration at a number of ranks that need not exist, for `--simulate` and time_forecast.h:
// traffic, memory, sockets, and the time of each phase on machines of given speeds. Phases have the names of
// Traffic::set_phase() (dist/traffic.h), such as "generate" and "train_actor".
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

/// Speed of a phase, measured on a machine (model_trial.h).
struct PhaseSpeed {
  double flops_per_s = 0;
  double update_s = 0;  // seconds of one optimizer update of the role that the phase trains; 0 for other phases
};
/// Measured speeds, in place of data-sheet values; made by measure_speeds() in time_forecast.h.
struct MeasuredSpeeds {
  std::map<std::string, PhaseSpeed> phases{};  // by phase: every phase that computes in a model, except sampling
  SamplingSpeed sampling{};
};

/// Speeds of a rank and its full-duplex links. The defaults are data-sheet values of an H100 in a host of eight.
struct SimulatedMachine {
  double tflops = 989;                                           // peak of bf16 matrix products, in TFLOP/s
  double mfu = 0.4;                                              // share of the peak that is reached
  double gbps_memory = 3350, gbps_intra = 450, gbps_inter = 50;  // GB/s of memory; within a host; between hosts
  int64_t ranks_per_host = 8;
  double gb_memory = 80;                     // GB of memory per rank
  std::optional<MeasuredSpeeds> measured{};  // if set, used instead of tflops, mfu and gbps_memory
};

/// Arguments of a simulation. Sequence lengths come from the first of these that is set: `lengths`, `rollouts`, the
/// configuration's rollout_replay. If none is set, `mean` and `std` are used.
struct SimulationRequest {
  ScaleRequest scale;  // the configuration to simulate
  std::string arch;    // name of the shape of all models (Qwen2.5-7B); "": shapes of the configured models
  std::optional<std::filesystem::path> rollouts;  // folder of recorded rollouts
  std::optional<ThinStep> lengths{};              // the step to simulate
  std::optional<double> mean;   // assumed mean response length in tokens; default: response_length / 4
  std::optional<double> std;    // assumed standard deviation; default: the mean
  std::optional<int64_t> step;  // number of the step; default: the first recorded one, or the first after critic_warmup
  std::optional<bool> on_gpu;   // default: true if actor_train has a device_mapping
  SimulatedMachine machine;
};

/// Bytes that ranks send, or that they receive.
struct RankBytes {
  int64_t mean = 0;   // over all ranks
  int64_t most = 0;   // bytes of the rank with most
  int64_t first = 0;  // bytes of rank 0
};

/// Traffic and time of one phase of a step.
struct PhaseSimulation {
  std::string name;
  std::map<std::string, RankBytes> sent, received;    // key: group and collective, "shards/reduce_scatter"
  std::map<std::string, int64_t> calls;               // same keys; collectives of the rank with most
  RankBytes all_sent, all_received;                   // sums over all keys
  double compute_s = 0, memory_s = 0, traffic_s = 0;  // seconds; each is the largest value of a rank
  double seconds = 0;                  // total of the slowest rank, including waits for other pipeline stages
  double idle_share = 0;               // mean idle share of pipeline stages, 0 to 1
  std::vector<double> rank_seconds{};  // [num_running] total of each running rank, including these waits
};

/// Result of a simulation.
struct Simulation {
  int64_t num_ranks = 1;                                       // simulated ranks
  int64_t num_planned = 1;                                     // ranks that stand for them (planned_ranks.h)
  int64_t num_running = 1;                                     // planned ranks that ran
  int64_t step = 1;                                            // number of the simulated step
  int64_t num_prompts = 0, num_sequences = 0;                  // all ranks' prompts and sequences of the step
  double mean_length = 0;                                      // tokens of a sequence: prompt and response
  int64_t most_sockets = 0;                                    // most_sockets() in peer_count.h
  std::vector<std::pair<std::string, MemoryEstimate>> memory;  // (ranks of a class such as "0-7", memory per rank)
  std::vector<PhaseSimulation> phases;                         // in the order of a step, without empty ones
  Timeline timeline;
  int64_t largest_message = 0;     // bytes of the largest message from one rank to another
  std::string largest_key;         // phase, group and collective of that message
  std::vector<std::string> notes;  // things that the simulation assumes or leaves out, as sentences

  /// Returns the longest phase; there must be one.
  const PhaseSimulation& bottleneck() const;
};

class Simulator {
 public:
  /// Throws UserError if load_config() refuses the configuration.
  explicit Simulator(SimulationRequest request);
  /// Returns true if at() will take no more than a few seconds. Throws UserError as at() does.
  bool is_quick(int64_t num_ranks) const;
  /// Returns the step to simulate with `config`, the requested configuration scaled to some number of ranks. Throws
  /// UserError if recorded lengths cannot be read.
  ThinStep make_thin_step(const Config& config) const;
  /// Simulates a step at `num_ranks`. Throws UserError if the configuration cannot be scaled to `num_ranks`, or models
  /// have unknown shapes or cannot be split over the ranks. Throws it, too, if recorded lengths cannot be read, or a
  /// rank would have more than 20 million tokens.
  Simulation at(int64_t num_ranks) const;

 private:
  SimulationRequest request_;
  ScaledConfig scaled_;
};

/// Return the result as `--simulate` prints it, as JSON or as text.
Json to_json(const Simulation& simulation);
std::string to_text(const Simulation& simulation, const SimulatedMachine& machine);

}  // namespace roll
