// roll evaluate: a model on the validation sets of a configuration, as a run of no steps; or the numbers of responses
// that were judged before.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <set>

#include "app/cli/streams.h"
#include "app/commands.h"
#include "app/job.h"
#include "base/error.h"
#include "base/file.h"
#include "collect/rollout_metrics.h"
#include "evaluation/measured_set.h"
#include "model/device.h"
#include "settings/load_config.h"
#include "train/rlvr.h"

namespace roll {

namespace {

struct EvaluateFlags {
  JobFlags job;
  std::optional<std::string> model, output;
  int64_t keep_every = 64;
  std::vector<std::string> from;
};

/// UserError: a response twice, which would count twice.
void refuse_twins(const std::string& set, const std::vector<JudgedSample>& samples) {
  std::set<std::pair<int64_t, int64_t>> seen;
  for (const JudgedSample& sample : samples)
    if (!seen.emplace(sample.prompt, sample.number).second)
      throw user_error("--from = {}: group {}, sample {} is there twice; name each file of one evaluation once", set,
                       sample.prompt, sample.number);
}

/// "NAME=FILE", or FILE, which names its set.
std::pair<std::string, std::string> named_file(const std::string& word) {
  const size_t equals = word.find('=');
  if (equals != std::string::npos) return {word.substr(0, equals), word.substr(equals + 1)};
  return {std::filesystem::path(word).stem().string(), word};
}

std::vector<JudgedSample> samples_in(const std::string& file) {
  Input input(file, "--from");
  std::vector<JudgedSample> samples;
  for_each_json_line(input.stream(), input.name(), [&](int64_t line, const Json& json) {
    const RolloutRecord record = record_from_json(json, fmt::format("{}:{}", input.name(), line));
    if (!record.is_baseline) samples.push_back(judged_sample(record));
  });
  if (samples.empty()) throw user_error("--from = {}: has no responses", file);
  return samples;
}

/// The numbers of recorded responses: a table, or with --output a line of metrics as a run's.
void recompute(const EvaluateFlags& flags) {
  std::map<std::string, std::vector<JudgedSample>> samples;
  for (const std::string& word : flags.from) {
    const auto [name, file] = named_file(word);
    for (JudgedSample& sample : samples_in(file)) samples[name].push_back(std::move(sample));
  }
  std::map<std::string, MeasuredSet> sets;
  Json metrics = Json::object();
  for (const auto& [name, of_set] : samples) {
    refuse_twins(name, of_set);
    int64_t num_samples = 1;
    for (const JudgedSample& sample : of_set) num_samples = std::max(num_samples, sample.number + 1);
    sets[name] = measured(of_set, num_samples);
    for (const auto& [metric, value] : set_metrics(name, sets[name]).values()) metrics[metric] = value;
  }
  if (!flags.output) return print_data(table_of(sets));
  check_folder_of("--output", *flags.output);
  write_file_atomic(*flags.output, to_line(metrics) + "\n");
}

std::vector<std::string> overrides_of(const EvaluateFlags& flags) {
  std::vector<std::string> overrides = overrides_of(flags.job);
  if (flags.model)
    for (const char* key : {"pretrain", "actor_train.model_args.model_name_or_path"})
      overrides.push_back(fmt::format("{}={}", key, *flags.model));
  if (flags.output) overrides.push_back("output_dir=" + *flags.output);
  return overrides;
}

void evaluate(const EvaluateFlags& flags) {
  if (!flags.from.empty()) return recompute(flags);
  const auto checked = load_config(flags.job.config, overrides_of(flags), load_options(flags.job));
  if (!checked.config.validates())
    throw user_error("{}: has no validation; name rows, as validation: {{sets: {{NAME: {{data_args: ...}}}}}}",
                     flags.job.config);
  run_job(flags.job, plan_job(checked, checked.config.actor_train), [&](const Job& job) {
    if (checked.config.deterministic) use_deterministic_kernels();
    RunFlags run = run_flags(flags.job, job.screen);
    run.validates_by = flags.keep_every;
    run_rlvr(checked.config, run, job.device, job.ranks, job.log);
  });
}

}  // namespace

void add_evaluate(CLI::App& app) {
  auto* sub = app.add_subcommand("evaluate", "a model on validation sets: avg@k, pass@k, maj@k with standard errors");
  auto flags = std::make_shared<EvaluateFlags>();
  add_job_flags(*sub, flags->job, {.flags = "--from FILE", .are_given = [flags] { return !flags->from.empty(); }});
  sub->add_option("--model", flags->model, "the model, in place of the configuration's")->type_name("DIR");
  sub->add_option("--output", flags->output,
                  "run folder of the evaluation, in place of output_dir; with --from: file of the metrics as JSON");
  sub->add_option("--keep-every", flags->keep_every,
                  "prompts of a set whose judged responses are kept together; --resume goes on behind those that are")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000'000}))
      ->capture_default_str();
  const auto sampling = sub->get_options(
      [](const CLI::Option* option) { return !option->check_name("--output") && !option->check_name("--help"); });
  auto* from = sub->add_option("--from", flags->from,
                               "instead of sampling: recorded responses (a run's rollouts/val_*.jsonl), [SET=]FILE; "
                               "files of one SET are put together");
  from->allow_extra_args(false)->type_name("[SET=]FILE");
  for (CLI::Option* option : sampling) from->excludes(option);
  sub->callback([flags] { evaluate(*flags); });
}

}  // namespace roll
