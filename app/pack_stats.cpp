// roll pack-stats: previews how a run's sequences would be packed, without using a device.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/cli/config_flags.h"
#include "app/cli/streams.h"
#include "app/commands.h"
#include "base/error.h"
#include "base/file.h"
#include "checkpoint/hub_cache.h"
#include "preview/pack_preview.h"
#include "settings/load_config.h"
#include "settings/rollout_only.h"

namespace roll {

namespace {

struct PackStatsFlags {
  std::string config, rollouts, lengths, arch, html;
  std::vector<std::string> overrides;
  std::optional<int64_t> num_ranks;
  std::optional<double> mean, std, memory_gb;
  int64_t steps = 0, bars = 32;
  bool json = false;
};

ResponseModel response_model(const PackStatsFlags& flags, const Config& config) {
  const double mean = flags.mean.value_or(static_cast<double>(config.response_length.value()) / 4);
  return {.mean = mean, .std = flags.std.value_or(mean)};
}

LengthSource read_lengths(const PackStatsFlags& flags, const Config& config) {
  const int64_t group = config.num_return_sequences_in_group;
  const std::string recorded = flags.rollouts.empty() ? config.rollout_replay.value_or("") : flags.rollouts;
  if (!flags.lengths.empty()) {
    Input input(flags.lengths, "--lengths");
    return listed_lengths(input.stream(), input.name(), config.sequences_per_step(), flags.steps);
  }
  if (!recorded.empty()) return recorded_lengths(recorded, group, flags.steps);
  Log log(std::cerr, std::cerr, {});
  const auto folder = model_folder(config.actor_train.model_args.model_name_or_path.value());
  return modelled_lengths(config, folder, response_model(flags, config), std::max<int64_t>(1, flags.steps), log);
}

void show(const PackStatsFlags& flags) {
  if (const std::string command = find_command(flags.config); command != "train")
    throw user_error("--config = {}: describes {}; pack-stats previews `roll train`", flags.config,
                     described_by(command));
  check_parent_folder("--html", flags.html);
  const bool reads_data = flags.rollouts.empty() && flags.lengths.empty();
  if (!reads_data && (flags.mean || flags.std))
    throw user_error("{}: applies only to assumed responses, but the lengths are given; leave it out",
                     flags.mean ? "--mean" : "--std");
  const auto checked =
      load_config(flags.config, flags.overrides, {.num_ranks = flags.num_ranks, .offline = !reads_data});
  const Config& config = checked.config;
  require_training(config, flags.config, "pack-stats");
  const RoleSpecs specs = role_specs(config, flags.arch);
  std::optional<double> memory_bytes;
  if (flags.memory_gb) memory_bytes = *flags.memory_gb * 1e9;
  PackReport report = pack_preview(config, specs, read_lengths(flags, config), memory_bytes);
  report.config = flags.config;
  for (const std::string& note : checked.notes) std::fprintf(stderr, "note: %s\n", note.c_str());
  if (!flags.html.empty()) write_file_atomic(flags.html, report_html(report));
  if (flags.json)
    print_data(to_line(report_json(report)) + "\n");
  else
    std::fputs(report_text(report, flags.bars).c_str(), stdout);
}

}  // namespace

void add_pack_stats(CLI::App& app) {
  auto* sub = app.add_subcommand("pack-stats", "preview how a run's sequences are packed: fill, balance, budgets");
  auto flags = std::make_shared<PackStatsFlags>();
  add_config_flags(*sub, flags->config, flags->overrides, "YAML file of `roll train`");
  auto* rollouts = sub->add_option("--rollouts", flags->rollouts, "recorded lengths: run folder or step_NNNNNN.jsonl");
  sub->add_option("--lengths", flags->lengths,
                  "tokens of each sequence: numbers or JSON objects, one per line; - is standard input")
      ->excludes(rollouts);
  sub->add_option(
         "--arch", flags->arch,
         "shape of the models, for their FLOPs and memory: a config.json, a GGUF file, or a name such as Qwen2.5-7B; "
         "default: the configured models")
      ->type_name("NAME|FILE");
  sub->add_option("--mean", flags->mean, "mean of assumed responses, tokens; default: response_length / 4")
      ->check(CLI::Range(1.0, 1e9));
  sub->add_option("--std", flags->std, "their standard deviation; default: the mean")->check(CLI::Range(0.0, 1e9));
  sub->add_option("--steps", flags->steps,
                  "steps to plan; default: all steps with given lengths, or 1 step of assumed lengths")
      ->check(CLI::Range(int64_t{1}, int64_t{100000}));
  sub->add_option("-n", flags->num_ranks, "ranks of the run; default: the devices of device_mapping, or 1")
      ->check(CLI::Range(1, 65536));
  sub->add_option("--memory-gb", flags->memory_gb, "memory of a rank: suggest the largest budget that fits")
      ->check(CLI::Range(0.001, 1e6));
  sub->add_option("--bars", flags->bars, "bars shown per stage")->check(CLI::Range(0, 1000000))->capture_default_str();
  sub->add_flag("--json", flags->json, "print one JSON object with every micro-batch");
  sub->add_option("--html", flags->html, "also write a self-contained page");
  sub->callback([flags] { show(*flags); });
}

}  // namespace roll
