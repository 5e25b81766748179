#include "forecast/simulation.h"

#include <algorithm>
#include <catch2/catch.hpp>

namespace roll {
namespace {

constexpr double kPolicy_bytes = 2 * 7'615'616'512.0;  // Qwen2.5-7B in bfloat16

/// The 7B recipe with the policy trained on 16 of 24 ranks, eight a host, and sampled on the others.
Simulator apart(int64_t train_tp, int64_t sampler_tp, int64_t ranks_per_host = 8, int64_t train_pp = 1,
                int64_t num_chunks = 1, const std::string& arch = "Qwen2.5-7B") {
  std::vector<std::string> overrides = {"actor_infer.device_mapping=list(range(16,24))",
                                        "async_generation_ratio=0.5",
                                        "adv_estimator=grpo",
                                        "rollout_batch_size=128",
                                        "critic_warmup=0",
                                        "offload=false"};
  for (const std::string role : {"actor_train", "reference", "critic"}) {
    overrides.push_back(role + ".device_mapping=list(range(0,16))");
    const std::string layout = role + ".strategy_args.strategy_config.";
    overrides.push_back(fmt::format("{}tensor_model_parallel_size={}", layout, train_tp));
    if (train_pp > 1) overrides.push_back(fmt::format("{}pipeline_model_parallel_size={}", layout, train_pp));
    if (num_chunks > 1)
      overrides.push_back(fmt::format("{}virtual_pipeline_model_parallel_size={}", layout, num_chunks));
  }
  overrides.push_back(
      fmt::format("actor_infer.strategy_args.strategy_config.tensor_model_parallel_size={}", sampler_tp));
  return Simulator({.scale = {.file = "configs/qwen2.5-7b_rlvr_8gpu.yaml", .overrides = overrides},
                    .arch = arch,
                    .mean = 64,  // so that all ranks of 24 run, and soon
                    .machine = {.ranks_per_host = ranks_per_host}});
}

const PhaseSimulation& phase_of(const Simulation& simulation, const std::string& name) {
  return *std::ranges::find(simulation.phases, name, &PhaseSimulation::name);
}

}  // namespace

TEST_CASE("weights take as long as the slowest to send or to get them, on the links that they take", "[preview]") {
  const SimulatedMachine machine;
  // All samplers' hosts get whole models from other hosts, at any number of ranks.
  for (const int64_t num_ranks : {24, 768}) {
    CAPTURE(num_ranks);
    const PhaseSimulation weights = phase_of(apart(4, 4).at(num_ranks), "model_update");
    CHECK(weights.traffic_s == Approx(kPolicy_bytes / 4 / (machine.gbps_inter * 1e9)).epsilon(0.001));
  }
  // One host has all: what it sends and gets stays inside.
  const PhaseSimulation near = phase_of(apart(4, 4, 24).at(24), "model_update");
  CHECK(near.traffic_s == Approx(kPolicy_bytes / 4 / (machine.gbps_intra * 1e9)).epsilon(0.001));
}

TEST_CASE("sequences take as long as the rank that gets most", "[preview]") {
  const Simulation simulation = apart(4, 4).at(24);
  CHECK(simulation.num_running == 24);
  const PhaseSimulation& rollouts = phase_of(simulation, "rollouts");
  const RankBytes& received = rollouts.received.at("world/all_to_all");
  CHECK(received.most > received.mean);  // samplers get none
  CHECK(received.mean == rollouts.sent.at("world/all_to_all").mean);
  CHECK(rollouts.traffic_s >= static_cast<double>(received.most) / (SimulatedMachine().gbps_inter * 1e9));
}

TEST_CASE("stages of a pipeline take as long as the whole, idling included", "[preview]") {
  const PhaseSimulation chunks = phase_of(apart(1, 4, 8, 4, /*num_chunks=*/7).at(24), "train_actor");
  CHECK(chunks.seconds * (1 - chunks.idle_share) < chunks.compute_s + chunks.traffic_s);
  CHECK(chunks.seconds > chunks.compute_s);
  CHECK(chunks.sent.contains("activations/broadcast"));
  // Of many ranks some run, and with each the other stages of its pipeline.
  const Simulation many = apart(1, 4, 8, 4).at(768);
  CHECK(many.num_running < 768);
  CHECK(phase_of(many, "train_actor").idle_share > chunks.idle_share);
  CHECK(chunks.idle_share > 0);
}

TEST_CASE("stages with gated delta nets are planned, also those without an embedding", "[preview]") {
  const Simulation simulation = apart(1, 4, 8, 4, 1, "Qwen3.5-27B").at(24);
  CHECK(phase_of(simulation, "train_actor").idle_share > 0);
  CHECK(phase_of(simulation, "model_update").seconds > 0);
}

}  // namespace roll
