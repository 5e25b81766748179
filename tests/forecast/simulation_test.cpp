#include "forecast/simulation.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

namespace roll {
namespace {

constexpr double kPolicy_bytes = 2 * 7'615'616'512.0;  // Qwen2.5-7B in bfloat16

/// The 7B recipe with the policy trained on 16 of 24 ranks, eight a host, and sampled on the others.
Simulator apart(int64_t train_tp, int64_t sampler_tp, int64_t ranks_per_host = 8, int64_t train_pp = 1,
                int64_t num_chunks = 1, const std::string& arch = "Qwen2.5-7B",
                const std::vector<std::string>& more = {}) {
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
  overrides.insert(overrides.end(), more.begin(), more.end());
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

TEST_CASE("layers that an update gathers travel with each micro-batch, twice as they are computed twice", "[preview]") {
  const auto sent_by = [](const std::vector<std::string>& more, const std::string& what) {
    const PhaseSimulation phase = phase_of(apart(1, 4, 8, 1, 1, "Qwen2.5-7B", more).at(24), "train_actor");
    double all = 0;
    for (const auto& [key, bytes] : phase.sent)
      if (key.ends_with(what)) all += static_cast<double>(bytes.first);
    return all;
  };
  // Matrices of 28 layers: q and o, k and v, three of the MLP. Each of 16 ranks sends its 1/16 to 15 others.
  constexpr double kNumel = 28 * (2 * 3584.0 * 3584 + 2 * 3584.0 * 512 + 3 * 3584.0 * 18944), kShare = 15 / 16.0;
  const std::vector<std::string> recomputes = {"actor_train.strategy_args.strategy_config.recompute_granularity=full"};
  for (const bool again : {false, true})
    for (const std::string way : {"reshard_after_forward=true"}) {
      std::vector<std::string> plain = again ? recomputes : std::vector<std::string>(), gathers = plain;
      gathers.push_back("actor_train.strategy_args.strategy_config." + way);
      for (auto* list : {&plain, &gathers}) list->push_back("actor_train.strategy_args.strategy_name=deepspeed_train");
      if (!again)
        for (auto* list : {&plain, &gathers})
          list->push_back("actor_train.model_args.disable_gradient_checkpointing=true");
      const double gathered = sent_by(gathers, "all_gather") - sent_by(plain, "all_gather");
      const double micro_batches = gathered / (2 * kNumel * kShare * (again ? 2 : 1));
      CHECK(micro_batches >= 2);
      CHECK(micro_batches == Approx(std::round(micro_batches)).epsilon(1e-9));
      const double summed = sent_by(gathers, "reduce_scatter") - sent_by(plain, "reduce_scatter");
      CHECK(summed / (4 * kNumel * kShare) == Approx(micro_batches - 1).epsilon(1e-9));  // one update
    }
}

TEST_CASE("stages with gated delta nets are planned, also those without an embedding", "[preview]") {
  const Simulation simulation = apart(1, 4, 8, 4, 1, "Qwen3.5-27B").at(24);
  CHECK(phase_of(simulation, "train_actor").idle_share > 0);
  CHECK(phase_of(simulation, "model_update").seconds > 0);
}

}  // namespace roll
