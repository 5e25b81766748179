#include "forecast/simulation.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>

namespace roll {
namespace {

constexpr double kPolicy_bytes = 2 * 7'615'616'512.0;  // Qwen2.5-7B in bfloat16

/// The 7B recipe with the policy trained on 16 of 24 ranks, eight a host, and sampled on the others.
struct Apart {
  int64_t train_tp = 1, sampler_tp = 4, ranks_per_host = 8, train_pp = 1;
  std::string arch = "Qwen2.5-7B";
  std::vector<std::string> more = {};  // of actor_train's strategy_config
  std::string stages = {};             // of all roles that have some
  int64_t updates = 1;
};

Simulator apart(const Apart& layout) {
  std::vector<std::string> overrides = {
      "actor_infer.device_mapping=list(range(16,24))",
      "async_generation_ratio=0.5",
      "adv_estimator=grpo",
      "rollout_batch_size=128",
      "critic_warmup=0",
      "offload=false",
      fmt::format("actor_train.training_args.train_batch_size={}", 1024 / layout.updates)};
  const auto strategy = [](const std::string& role) { return role + ".strategy_args.strategy_config."; };
  for (const std::string role : {"actor_train", "reference", "critic"}) {
    overrides.push_back(role + ".device_mapping=list(range(0,16))");
    overrides.push_back(fmt::format("{}tensor_model_parallel_size={}", strategy(role), layout.train_tp));
    overrides.push_back(fmt::format("{}pipeline_model_parallel_size={}", strategy(role), layout.train_pp));
    if (!layout.stages.empty())
      overrides.push_back(fmt::format("{}pipeline_model_parallel_layout={}", strategy(role), layout.stages));
  }
  overrides.push_back(fmt::format("{}tensor_model_parallel_size={}", strategy("actor_infer"), layout.sampler_tp));
  for (const std::string& key : layout.more) overrides.push_back(strategy("actor_train") + key);
  return Simulator({.scale = {.text = read_config("configs/qwen2.5-7b_rlvr_8gpu.yaml", overrides)},
                    .arch = layout.arch,
                    .mean = 64,  // so that all ranks of 24 run, and soon
                    .machine = {.ranks_per_host = layout.ranks_per_host}});
}

const PhaseSimulation& phase_name(const Simulation& simulation, const std::string& name) {
  return *std::ranges::find(simulation.phases, name, &PhaseSimulation::name);
}

/// `sampling` of the ranks sample, one alone each, and all are pipelines of so many `stages`: of actor, reference and
/// critic.
Simulation beside_pipelines(int64_t sampling, int64_t ranks, const std::array<int64_t, 3>& stages,
                            std::vector<std::string> overrides) {
  overrides.insert(overrides.begin(), {fmt::format("actor_infer.device_mapping=list(range(0,{}))", sampling),
                                       "actor_infer.strategy_args.strategy_config.tensor_model_parallel_size=1",
                                       "adv_estimator=grpo", "critic_warmup=0", "offload=false"});
  const char* const roles[] = {"actor_train", "reference", "critic"};
  for (size_t i = 0; i < stages.size(); ++i) {
    const std::string strategy = fmt::format("{}.strategy_args.strategy_config.", roles[i]);
    overrides.push_back(fmt::format("{}.device_mapping=list(range(0,{}))", roles[i], ranks));
    overrides.push_back(strategy + "tensor_model_parallel_size=1");
    overrides.push_back(fmt::format("{}pipeline_model_parallel_size={}", strategy, stages[i]));
  }
  return Simulator({.scale = {.text = read_config("configs/qwen2.5-7b_rlvr_8gpu.yaml", overrides)},
                    .arch = "Qwen2.5-0.5B",
                    .mean = 64})
      .at(ranks);
}

/// On-policy distillation on eight ranks, from a teacher on each of `devices` and of so many stages.
struct PlannedTeacher {
  std::string devices;
  int64_t stages = 1;
};
Simulation taught(const std::vector<PlannedTeacher>& teachers) {
  std::string all;
  for (const auto& [devices, stages] : teachers)
    all += fmt::format(
        "{}t{}: {{device_mapping: '{}', model_args: {{model_name_or_path: Qwen/Qwen2.5-0.5B}}, strategy_args: "
        "{{strategy_config: {{pipeline_model_parallel_size: {}}}}}}}",
        all.empty() ? "" : ", ", all.size(), devices, stages);
  const std::vector<std::string> overrides = {"is_pure_opd=true",
                                              "adv_estimator=reinforce",
                                              "add_token_level_kl=false",
                                              "whiten_advantages=false",
                                              "critic_warmup=0",
                                              "rollout_batch_size=64",
                                              "actor_train.training_args.train_batch_size=512",
                                              "actor_train.strategy_args.strategy_config.tensor_model_parallel_size=2",
                                              "actor_infer.strategy_args.strategy_config.tensor_model_parallel_size=2",
                                              fmt::format("teacher={{{}}}", all)};
  return Simulator({.scale = {.text = read_config("configs/qwen2.5-7b_rlvr_8gpu.yaml", overrides)},
                    .arch = "Qwen2.5-0.5B",
                    .mean = 64})
      .at(8);
}

}  // namespace

TEST_CASE("weights take as long as the slowest to send or to get them, on the links that they take", "[preview]") {
  const SimulatedMachine machine;
  // All samplers' hosts get whole models from other hosts, at any number of ranks.
  for (const int64_t num_ranks : {24, 768}) {
    CAPTURE(num_ranks);
    const PhaseSimulation weights = phase_name(apart({.train_tp = 4}).at(num_ranks), "model_update");
    CHECK(weights.traffic_s == Approx(kPolicy_bytes / 4 / (machine.gbps_inter * 1e9)).epsilon(0.001));
  }
  // One host has all: what it sends and gets stays inside.
  const PhaseSimulation near = phase_name(apart({.train_tp = 4, .ranks_per_host = 24}).at(24), "model_update");
  CHECK(near.traffic_s == Approx(kPolicy_bytes / 4 / (machine.gbps_intra * 1e9)).epsilon(0.001));
}

TEST_CASE("measured speeds take the place of a data sheet's, phase by phase", "[preview]") {
  SimulationRequest request{
      .scale = {.text = read_config("configs/qwen2.5-7b_rlvr_8gpu.yaml", {"adv_estimator=grpo", "critic_warmup=0"})},
      .arch = "Qwen2.5-7B",
      .mean = 64};
  const Simulation sheet = Simulator(request).at(8);
  MeasuredSpeeds measured{.sampling = {.prompt_flops_per_s = 1e9, .peak = {1e9, 1e9}, .decoding_share = 0.5}};
  const double flops_per_s = request.machine.tflops * 1e12 * request.machine.mfu;
  for (const PhaseSimulation& phase : sheet.phases) measured.phases[phase.name] = {flops_per_s / 2};
  request.machine.measured = measured;
  const Simulation slow = Simulator(request).at(8);
  CHECK(phase_name(slow, "train_actor").compute_s == Approx(2 * phase_name(sheet, "train_actor").compute_s));
  CHECK(phase_name(slow, "old_log_probs").compute_s == Approx(2 * phase_name(sheet, "old_log_probs").compute_s));
  CHECK(phase_name(slow, "generate").seconds > 100 * phase_name(sheet, "generate").seconds);
  request.machine.measured->phases["train_actor"].update_s = 10;
  const double updates = 4;  // of the recipe, a step
  CHECK(phase_name(Simulator(request).at(8), "train_actor").compute_s ==
        Approx(phase_name(slow, "train_actor").compute_s + 10 * updates));
}

TEST_CASE("sequences take as long as the rank that gets most", "[preview]") {
  const Simulation simulation = apart({.train_tp = 4}).at(24);
  CHECK(simulation.num_running == 24);
  const PhaseSimulation& rollouts = phase_name(simulation, "rollouts");
  const RankBytes& received = rollouts.received.at("world/all_to_all");
  CHECK(received.most > received.mean);  // samplers get none
  CHECK(received.mean == rollouts.sent.at("world/all_to_all").mean);
  CHECK(rollouts.traffic_s >= static_cast<double>(received.most) / (SimulatedMachine().gbps_inter * 1e9));
}

TEST_CASE("stages of a pipeline take as long as the whole, idling included", "[preview]") {
  const std::string again = "recompute_granularity=full";
  const PhaseSimulation plain = phase_name(apart({.train_pp = 4, .more = {again}}).at(24), "train_actor");
  CHECK(plain.seconds * (1 - plain.idle_share) < plain.compute_s + plain.traffic_s);
  CHECK(plain.seconds > plain.compute_s);
  CHECK(plain.sent.contains("activations/broadcast"));
  // Chunks, of which some have no layer and the others one, compute what their stages would at once, and idle less.
  const std::vector<std::string> first_layers = {again, "recompute_method=block", "recompute_num_layers=1",
                                                 "pipeline_model_parallel_layout=E|(t|)*28||L"};
  const PhaseSimulation chunks = phase_name(apart({.train_pp = 4, .more = first_layers}).at(24), "train_actor");
  CHECK(chunks.compute_s == Approx(plain.compute_s));
  CHECK(chunks.idle_share > 0);
  CHECK(chunks.idle_share < plain.idle_share);
  const PhaseSimulation often = phase_name(apart({.train_pp = 4, .more = {again}, .updates = 4}).at(24), "train_actor");
  CHECK(often.idle_share > 1.3 * plain.idle_share);  // each update has its bubble
  // Of many ranks some run, and with each the other stages of its pipeline.
  const Simulation many = apart({.train_pp = 4, .more = {again}}).at(768);
  CHECK(many.num_running < 768);
  CHECK(phase_name(many, "train_actor").idle_share == Approx(plain.idle_share).epsilon(0.02));
  int64_t trainers = 0;
  for (const ClassTimeline& one : many.timeline.classes)
    if (one.work.roles.find("actor_train") != std::string::npos) {
      CHECK(one.work.seconds.at("train_actor") == Approx(phase_name(many, "train_actor").seconds));
      ++trainers;
    }
  CHECK(trainers == 4);
}

TEST_CASE("a phase idles where its role has stages, and only there", "[preview]") {
  const std::vector<std::string> with_reference = {"init_kl_coef=0.1"};
  const auto idles = [&](const std::array<int64_t, 3>& stages, const char* phase) {
    return phase_name(beside_pipelines(4, 8, stages, with_reference), phase).idle_share > 0;
  };
  CHECK(idles({2, 1, 1}, "train_actor"));
  CHECK_FALSE(idles({2, 1, 1}, "reference"));
  CHECK(idles({1, 2, 1}, "reference"));
  CHECK_FALSE(idles({1, 2, 1}, "train_actor"));
  const Simulation with_critic = beside_pipelines(4, 8, {1, 1, 2}, {"adv_estimator=gae"});
  CHECK(phase_name(with_critic, "values").idle_share > 0);
  CHECK(phase_name(with_critic, "train_critic").idle_share > 0);
  CHECK(phase_name(with_critic, "train_actor").idle_share == 0);
  const Simulation without = beside_pipelines(4, 8, {2, 1, 1}, {"enable_reference=false", "add_token_level_kl=false"});
  CHECK(std::ranges::count(without.phases, "reference", &PhaseSimulation::name) == 0);
}

TEST_CASE("teachers on the same ranks are one pipeline after the other, on others beside each other", "[preview]") {
  const PhaseSimulation one = phase_name(taught({{"list(range(0,4))", 2}}), "reference");
  CHECK(one.idle_share > 0);
  const PhaseSimulation two = phase_name(taught({{"list(range(0,4))", 2}, {"list(range(0,4))", 2}}), "reference");
  CHECK(two.seconds == Approx(2 * one.seconds).epsilon(0.01));
  CHECK(two.idle_share == Approx(one.idle_share).epsilon(0.01));
  const PhaseSimulation beside = phase_name(taught({{"list(range(0,4))", 2}, {"list(range(4,8))", 4}}), "reference");
  const PhaseSimulation second = phase_name(taught({{"list(range(4,8))", 4}}), "reference");
  CHECK(second.idle_share > one.idle_share);
  CHECK(beside.idle_share == Approx(second.idle_share).epsilon(0.01));
  CHECK(beside.seconds == Approx(std::max(one.seconds, second.seconds)).epsilon(0.01));
}

TEST_CASE("the last stage of a pipeline alone computes the head", "[preview]") {
  const auto compute_s = [](int64_t pp, const std::string& stages) {
    return phase_name(apart({.train_pp = pp, .stages = stages}).at(24), "train_actor").compute_s;
  };
  // Of the tokens of four times as many data ranks one rank has 28 layers and the head, the last of even stages 7.
  const double whole = compute_s(1, ""), even = compute_s(4, "");
  const double of_7_layers = even - 4.0 / 3 * (even - whole);
  CHECK(of_7_layers < 0.95 * even);
  CHECK(compute_s(4, "Et*9|t*9|t*9|tL") == Approx(9.0 / 7 * of_7_layers).epsilon(0.02));
}

TEST_CASE("stages that stand for others bring the rest of their pipelines", "[preview]") {
  // 25 of 40 ranks sample: those that do not begin with the last stage of one pipeline and the first of another.
  const Simulation simulation =
      beside_pipelines(25, 40, {2, 2, 2}, {"rollout_batch_size=100", "actor_train.training_args.train_batch_size=800"});
  CHECK(simulation.num_running < 40);
  CHECK(phase_name(simulation, "train_actor").idle_share > 0);
}

TEST_CASE("a stage that another role's pipeline brings has the rest of its own", "[preview]") {
  const Simulation simulation = beside_pipelines(
      35, 42, {2, 3, 1},
      {"init_kl_coef=0.1", "rollout_batch_size=210", "actor_train.training_args.train_batch_size=1680"});
  CHECK(simulation.num_running < 42);
  CHECK(phase_name(simulation, "reference").idle_share > 0);
}

TEST_CASE("a plan of many experts takes more than seconds", "[preview]") {
  CHECK(apart({}).is_quick(24));
  CHECK_FALSE(apart({.arch = "Qwen3-30B-A3B"}).is_quick(24));
}

TEST_CASE("stages with gated delta nets are planned, also those without an embedding", "[preview]") {
  const Simulation simulation = apart({.train_pp = 4, .arch = "Qwen3.5-27B"}).at(24);
  CHECK(phase_name(simulation, "train_actor").idle_share > 0);
  CHECK(phase_name(simulation, "model_update").seconds > 0);
}

TEST_CASE("stages are planned whose layers read what those of others make", "[preview]") {
  // Of the second one both layers have a window, and the last one's keys and values are read by later stages.
  const Simulation simulation = apart({.sampler_tp = 1,
                                       .train_pp = 4,
                                       .arch = "gemma-4-E2B",
                                       .more = {"recompute_granularity=full"},
                                       .stages = "Et*12|t*2|t*10|t*11L"})
                                    .at(24);
  CHECK(phase_name(simulation, "train_actor").sent.contains("activations/broadcast"));
}

TEST_CASE("ranks of any layout launch collectives in an order that ends on GPUs", "[preview]") {
  // planned_ranks.cpp checks it.
  const auto [tp, pp, more] = GENERATE(table<int64_t, int64_t, std::vector<std::string>>({
      {2, 4, {"recompute_granularity=full"}},
      {1, 2, {"context_parallel_size=2", "virtual_pipeline_model_parallel_size=3"}},
      {2, 1, {"context_parallel_size=2", "reshard_after_forward=true"}},
  }));
  CAPTURE(tp, pp, more);
  CHECK_NOTHROW(
      apart({.train_tp = tp, .sampler_tp = 2, .train_pp = pp, .arch = "Qwen2.5-0.5B", .more = more, .updates = 2})
          .at(24));
}

}  // namespace roll
