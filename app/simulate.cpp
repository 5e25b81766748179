#include "app/simulate.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "app/cli/streams.h"
#include "base/error.h"
#include "forecast/time_forecast.h"

namespace roll {

void add_simulate_flags(CLI::App& sub, SimulateFlags& v) {
  const char* const group = "Simulation";
  auto* simulate = sub.add_option("--simulate", v.ranks,
                                  "forecast a step at these numbers of ranks: bytes that a rank sends, memory and "
                                  "time; uses the training's own planning, in one process, without models")
                       ->delimiter(',')
                       ->allow_extra_args(false)  // a following word is an override
                       ->check(CLI::Range(1, 65536))
                       ->excludes(sub.get_option("--print"))
                       ->group(group);
  const auto add = [&](const char* name, auto& value, const char* doc) {
    return sub.add_option(name, value, doc)->needs(simulate)->group(group);
  };
  sub.add_flag("--keep-batch", v.keeps_batch,
               "keep rollout_batch_size; otherwise it grows with the actor's data-parallel ranks")
      ->needs(simulate)
      ->group(group);
  add("--rollouts", v.rollouts,
      "lengths of a recorded step: run folder or step_NNNNNN.jsonl; repeated if there are too few; default: "
      "rollout_replay, or assumed lengths");
  add("--mean", v.mean,
      "mean tokens of assumed responses, or of turns that have prompts of their own; prompts have prompt_length / 4; "
      "default: response_length / 4")
      ->check(CLI::Range(1.0, 1e9));
  add("--std", v.std, "their standard deviation; default: the mean")->check(CLI::Range(0.0, 1e9));
  add("--step", v.step, "the step; default: the first recorded, or the first in which the actor is trained")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 31));
  add("--arch", v.arch,
      "shape of all models: a config.json, a GGUF file, or a name such as Qwen2.5-7B; default: the configured ones")
      ->type_name("NAME|FILE");
  add("--device", v.device,
      "cpu | cuda: sets the dtype of the models and the transport between ranks; default: cuda if roles name devices")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  SimulatedMachine& m = v.machine;
  const auto speed = [&](const char* name, double& value, const char* doc) {
    add(name, value, doc)->check(CLI::Range(1e-6, 1e9))->capture_default_str();
  };
  speed("--tflops", m.tflops, "1e12 operations per second of a rank's matrix products");
  speed("--mfu", m.mfu, "share of --tflops that is reached, the same in forward, training and prefill");
  speed("--gbps-memory", m.gbps_memory, "1e9 bytes per second that a rank reads from memory; limits decoding");
  speed("--gbps-intra", m.gbps_intra,
        "1e9 bytes per second that a rank sends within its host, and receives at the same time");
  speed("--gbps-inter", m.gbps_inter,
        "1e9 bytes per second that a rank sends to other hosts, and receives from them at the same time; nothing "
        "overlaps with computation");
  speed("--memory-gb", m.gb_memory, "1e9 bytes of memory of a rank; limits recompute_method: auto");
  add("--ranks-per-host", m.ranks_per_host, "neighbouring ranks that share a host")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  sub.add_flag("--json", v.json, "one JSON object per line")->needs(simulate)->group(group);
}

namespace {

/// Measures this machine's speeds for runs without GPUs, unless flags give speeds.
void measure_this_machine(const LoadOptions& options, SimulationRequest& request) {
  const SimulatedMachine defaults;
  const SimulatedMachine& machine = request.machine;
  const bool has_default_speeds =
      machine.tflops == defaults.tflops && machine.mfu == defaults.mfu && machine.gbps_memory == defaults.gbps_memory;
  if (!has_default_speeds || !request.arch.empty() || request.on_gpu.value_or(false)) return;
  const ConfigText& text = request.scale.text;
  const auto checked = load_config_text(text.yaml, text.origin, text.overrides, options);
  if (checked.config.actor_train.device_mapping || !checked.config.trains()) return;
  request.machine.measured = measure_speeds(checked, Simulator(request).make_thin_step(checked.config));
  if (request.machine.measured)
    std::fputs("note: speeds are measured on this machine; network speeds are those of the data sheet\n", stderr);
}

}  // namespace

void simulate(const SimulateFlags& v, const std::string& file, const std::vector<std::string>& overrides,
              std::optional<int64_t> num_ranks) {
  if (const std::string command = find_command(file); command != "train")
    throw user_error("--config = {}: describes {}; --simulate is for `roll train`", file, described_by(command));
  if (!v.rollouts.empty() && (v.mean || v.std))
    throw user_error("{}: applies only to assumed responses, but --rollouts gives the lengths; leave it out",
                     v.mean ? "--mean" : "--std");
  SimulationRequest request{
      .scale = {.text = read_config(file, overrides), .num_ranks = num_ranks, .keeps_batch = v.keeps_batch},
      .arch = v.arch,
      .rollouts = v.rollouts.empty() ? std::nullopt : std::optional<std::filesystem::path>(v.rollouts),
      .mean = v.mean,
      .std = v.std,
      .step = v.step,
      .machine = v.machine};
  if (!v.device.empty()) request.on_gpu = v.device == "cuda";
  measure_this_machine({.num_ranks = num_ranks, .offline = true, .is_started = true}, request);
  const Simulator simulator(std::move(request));
  for (const int64_t ranks : v.ranks) {
    const Simulation simulation = simulator.at(ranks);
    for (const std::string& note : simulation.notes) std::fprintf(stderr, "note: %s\n", note.c_str());
    if (v.json)
      print_data(to_line(to_json(simulation)) + "\n");
    else
      std::fputs(to_text(simulation, v.machine).c_str(), stdout);
  }
}

}  // namespace roll
