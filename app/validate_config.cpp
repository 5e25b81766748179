// roll validate-config: checks a configuration, and shows its batch arithmetic, memory and forecast of the step time.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "app/cli/config_flags.h"
#include "app/cli/streams.h"
#include "app/commands.h"
#include "app/simulate.h"
#include "forecast/time_forecast.h"
#include "preview/config_data.h"
#include "preview/pack_preview.h"
#include "settings/load_config.h"

namespace roll {

namespace {

struct ValidateFlags {
  std::string file;
  std::vector<std::string> overrides;
  LoadOptions options;
  bool print = false, no_data = false, no_time = false;
  SimulateFlags simulation;
};

/// Prints how this machine can isolate the code_sandbox rewards.
void show_sandboxes(const Config& config) {
  for (const auto& [domain, worker] : config.rewards)
    if (const auto* code = worker.reward.type ? std::get_if<CodeSandboxArgs>(&*worker.reward.type) : nullptr)
      std::printf("rewards.%s: %s\n", domain.c_str(), isolation_in_words(*code).c_str());
}
void show_sandboxes(const RowConfig&) {}

/// Checks every row with tokenizer, template and rewards, and prints the result.
template <class T>
ConfigData show_data(const T& config, const ValidateFlags& flags) {
  ConfigData data = view_data(config, flags.options.offline);
  for (const std::string& line : data.lines) std::printf("%s\n", line.c_str());
  std::fflush(stdout);
  print_warnings(data.warnings);
  return data;
}

/// Prints a timeline of the roles in a step, if roles have devices, model shapes are known, and the step is not too
/// large.
void show_timeline(const CheckedConfig<Config>& checked) {
  if (!checked.config.trains() || !checked.config.actor_train.device_mapping ||
      !role_specs(checked.config, "").are_known())
    return;
  const Simulator simulator({.scale = {.text = checked.text, .num_ranks = checked.num_ranks, .keeps_batch = true}});
  if (!simulator.is_quick(checked.num_ranks)) {
    std::printf("a timeline takes longer to compute: --simulate %lld shows it\n",
                static_cast<long long>(checked.num_ranks));
    return;
  }
  std::printf("timeline of --simulate for its default machine: %s",
              to_text(simulator.at(checked.num_ranks).timeline).c_str());
}
template <class T>
void show_timeline(const CheckedConfig<T>&) {}

template <class T>
void show(const CheckedConfig<T>& checked, const ValidateFlags& flags) {
  for (const std::string& note : checked.notes) std::fprintf(stderr, "note: %s\n", note.c_str());
  if (flags.print) {
    print_data(resolved_yaml(checked.config));
    return;
  }
  std::printf("%s\n", checked.plan.c_str());
  for (const std::string* text : {&checked.loss, &checked.algorithm, &checked.memory})
    if (!text->empty()) std::printf("%s\n", text->c_str());
  show_timeline(checked);
  show_sandboxes(checked.config);
  const auto rows = flags.no_data ? std::nullopt : std::optional(show_data(checked.config, flags));
  if (!flags.no_time) std::printf("%s\n", to_text(forecast_time(checked, rows)).c_str());
  std::printf("%s: valid\n", flags.file.c_str());
}

void validate(const ValidateFlags& flags) {
  const std::string command = find_command(flags.file);
  if (command == "sft")
    show(load_sft_config(flags.file, flags.overrides, flags.options), flags);
  else if (command == "dpo")
    show(load_dpo_config(flags.file, flags.overrides, flags.options), flags);
  else if (command == "distill")
    show(load_distill_config(flags.file, flags.overrides, flags.options), flags);
  else
    show(load_config(flags.file, flags.overrides, flags.options), flags);
}

}  // namespace

void add_validate_config(CLI::App& app) {
  auto* sub = app.add_subcommand("validate-config", "check a configuration and show its batch arithmetic");
  auto flags = std::make_shared<ValidateFlags>();
  add_config_flags(*sub, flags->file, flags->overrides,
                   "YAML file of `roll train`, `roll sft`, `roll dpo` or `roll distill`");
  sub->add_flag("--print", flags->print, "print the resolved configuration as YAML");
  sub->add_flag("--offline", flags->options.offline, "accept models and data files that do not exist here");
  sub->add_flag("--no-data", flags->no_data, "check only the first rows, and run no reward");
  sub->add_flag("--no-time", flags->no_time,
                "do not measure the time of a step on this machine, which takes some seconds");
  sub->add_option("-n", flags->options.num_ranks, "ranks of the run; default: the devices of device_mapping, or 1")
      ->check(CLI::Range(1, 65536));
  add_simulate_flags(*sub, flags->simulation);
  sub->callback([=] {
    if (flags->simulation.ranks.empty()) return validate(*flags);
    simulate(flags->simulation, flags->file, flags->overrides, flags->options.num_ranks);
  });
}

}  // namespace roll
