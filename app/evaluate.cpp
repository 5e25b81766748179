// roll evaluate: evaluates a model on validation sets, from a configuration or flags, as a run without training steps;
// or recomputes metrics of recorded responses (--from).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>

#include "app/cli/streams.h"
#include "app/commands.h"
#include "app/first_config.h"
#include "app/job.h"
#include "base/error.h"
#include "base/file.h"
#include "collect/rollout_metrics.h"
#include "config/writer.h"
#include "evaluation/comparison.h"
#include "evaluation/measured_set.h"
#include "model/device.h"
#include "settings/load_config.h"
#include "train/evaluation.h"

namespace roll {

namespace {

struct EvaluateFlags {
  JobFlags job;
  std::optional<std::string> model, output, reward;
  std::vector<std::string> data;
  int64_t samples = 1;
  std::optional<double> temperature, top_p;
  std::optional<int64_t> max_new_tokens;
  int64_t keep_every = 64;
  std::vector<std::string> from;
};

/// Checks for duplicates. UserError: a response occurs twice, and so would count twice.
void refuse_duplicates(const std::string& set, const std::vector<JudgedSample>& samples) {
  std::set<std::pair<int64_t, int64_t>> seen;
  for (const JudgedSample& sample : samples)
    if (!seen.emplace(sample.prompt, sample.number).second)
      throw user_error("--from = {}: group {}, sample {} occurs twice; name each file of an evaluation once", set,
                       sample.prompt, sample.number);
}

/// Splits "NAME=FILE" into set name and file; a plain FILE gets its name from the file.
std::pair<std::string, std::string> parse_set_word(const std::string& flag, const std::string& word) {
  const size_t equals = word.find('=');
  const auto [name, file] = equals == std::string::npos ? std::pair(data_name(word), word)
                                                        : std::pair(word.substr(0, equals), word.substr(equals + 1));
  if (!is_valid_set_name(name))
    throw user_error(
        "{} = {}: the set would be called '{}'; a name has only letters, digits, - and _; write {} NAME={}", flag, word,
        name, flag, file);
  return {name, file};
}

/// Recorded responses of a set.
struct RecordedSet {
  std::string name;
  std::vector<JudgedSample> samples{};
  JudgedPrompts prompts{};
};

void add_file(const std::string& file, RecordedSet& set) {
  Input input(file, "--from");
  const size_t num_before = set.samples.size();
  for_each_json_line(input.stream(), input.name(), [&](int64_t line, const Json& json) {
    const RolloutRecord record = record_from_json(json, fmt::format("{}:{}", input.name(), line));
    if (record.is_baseline) return;
    set.samples.push_back(judged_sample(record));
    if (!record.is_judged) return;
    JudgedPrompt& prompt = set.prompts[record.prompt_id];
    prompt.ground_truth = record.ground_truth;
    prompt.right.add(record.score >= 1);
  });
  if (set.samples.size() == num_before) throw user_error("--from = {}: has no responses", file);
}

/// Reads the files that --from names. The sets are in the flag's order.
std::vector<RecordedSet> recorded_sets(const std::vector<std::string>& words) {
  std::vector<RecordedSet> sets;
  for (const std::string& word : words) {
    const auto [name, file] = parse_set_word("--from", word);
    auto found = std::ranges::find(sets, name, &RecordedSet::name);
    if (found == sets.end()) found = sets.insert(sets.end(), {.name = name});
    add_file(file, *found);
  }
  return sets;
}

/// Compares the first set with each other set of the same prompts; returns a line for each.
std::string compare_sets(const std::vector<RecordedSet>& sets) {
  std::string text;
  for (size_t i = 1; i < sets.size(); ++i)
    if (const auto comparison = compare(sets[0].prompts, sets[i].prompts))
      text += to_text(*comparison, sets[0].name, sets[i].name) + "\n";
  return text;
}

/// Computes the metrics of recorded responses: prints a table with comparisons of sets, or with --out writes a line of
/// metrics like a run's.
void recompute(const EvaluateFlags& flags) {
  const std::vector<RecordedSet> recorded = recorded_sets(flags.from);
  std::map<std::string, MeasuredSet> sets;
  Json metrics = Json::object();
  for (const auto& [name, samples, prompts] : recorded) {
    refuse_duplicates(name, samples);
    int64_t num_samples = 1;
    for (const JudgedSample& sample : samples) num_samples = std::max(num_samples, sample.number + 1);
    sets[name] = measured(samples, num_samples);
    for (const auto& [metric, value] : evaluation_metrics(name, sets[name]).values()) metrics[metric] = value;
  }
  if (!flags.output) return print_data(evaluation_table(sets) + compare_sets(recorded));
  check_parent_folder("--out", *flags.output);
  write_file_atomic(*flags.output, to_line(metrics) + "\n");
}

using SetFiles = std::map<std::string, std::vector<std::string>>;

/// Returns the files of each set that --data names.
SetFiles find_set_files(const EvaluateFlags& flags) {
  SetFiles files;
  for (const std::string& word : flags.data) {
    const auto [name, pattern] = parse_set_word("--data", word);
    for (std::string& file : find_rows({pattern}, kTestSplits)) files[name].push_back(std::move(file));
  }
  return files;
}

/// Returns the column layout of a set's files. UserError: the files have different layouts.
std::string set_columns(const std::string& name, const std::vector<std::string>& files) {
  const std::string columns = columns_text(files.front());
  for (const std::string& file : files)
    if (const std::string file_columns = columns_text(file); file_columns != columns)
      throw user_error(
          "--data: the set {} has rows of two layouts, {} ({}) and {} ({}); make two sets, each as NAME=FILE", name,
          files.front(), columns, file, file_columns);
  return columns;
}

/// Returns the value of validation.sets for the flags, as YAML.
std::string sets_text(const EvaluateFlags& flags, const SetFiles& files) {
  std::string sampling = fmt::format("num_return_sequences: {}, temperature: {}", flags.samples,
                                     flags.temperature.value_or(flags.samples == 1 ? 0 : 1));
  if (flags.top_p) sampling += fmt::format(", top_p: {}", *flags.top_p);
  std::vector<std::string> sets;
  for (const auto& [name, set_files] : files)
    sets.push_back(fmt::format("{}: {{data_args: {{file_name: {}, {}}}, generating_args: {{{}}}}}", yaml_text(name),
                               yaml_value(set_files), set_columns(name, set_files), sampling));
  return fmt::format("{{{}}}", fmt::join(sets, ", "));
}

/// Builds the configuration from flags: sets and model.
CheckedConfig<Config> load_from_flags(const EvaluateFlags& flags) {
  const SetFiles files = find_set_files(flags);
  FirstFlags first{.model = flags.model, .reward = flags.reward, .data = {}, .files = {}, .evaluates = true};
  for (const std::string& word : flags.data) first.data.push_back(parse_set_word("--data", word).second);
  for (const auto& [name, set_files] : files) first.files.insert(first.files.end(), set_files.begin(), set_files.end());
  std::vector<std::string> overrides{"validation.sets=" + sets_text(flags, files)};
  if (flags.max_new_tokens) overrides.push_back(fmt::format("response_length={}", *flags.max_new_tokens));
  if (flags.output) overrides.push_back("output_dir=" + *flags.output);
  for (std::string& word : list_overrides(flags.job)) overrides.push_back(std::move(word));
  return load_generated(first, flags.job, overrides);
}

CheckedConfig<Config> load_from_file(const EvaluateFlags& flags) {
  std::vector<std::string> overrides = list_overrides(flags.job);
  if (flags.model)
    for (const char* key : {"pretrain", "actor_train.model_args.model_name_or_path"})
      overrides.push_back(fmt::format("{}={}", key, *flags.model));
  if (flags.output) overrides.push_back("output_dir=" + *flags.output);
  auto checked = load_config(flags.job.config, overrides, load_options(flags.job));
  if (!checked.config.validates())
    throw user_error("{}: has no validation set; add one, such as validation: {{sets: {{NAME: {{data_args: ...}}}}}}",
                     flags.job.config);
  return checked;
}

/// UserError: --out looks like a file name, but names a folder.
void check_run_folder(const std::optional<std::string>& output) {
  const std::string ending = output ? std::filesystem::path(*output).extension().string() : "";
  if (ending == ".json" || ending == ".jsonl" || ending == ".csv")
    throw user_error(
        "--out = {}: must be a folder, the run folder of the evaluation; its metrics.jsonl will hold the results",
        *output);
}

void evaluate(const EvaluateFlags& flags) {
  if (!flags.from.empty()) return recompute(flags);
  check_run_folder(flags.output);
  const auto checked = flags.data.empty() ? load_from_file(flags) : load_from_flags(flags);
  run_job(flags.job, plan_job(checked, checked.config.actor_train), [&](const Job& job) {
    if (checked.config.deterministic) use_deterministic_kernels();
    run_evaluation(checked.config, run_flags(flags.job, checked.models, job.screen), flags.keep_every, job.device,
                   job.ranks, job.log);
  });
}

}  // namespace

void add_evaluate(CLI::App& app) {
  auto* sub = app.add_subcommand("evaluate", "a model on validation sets: avg@k, pass@k, maj@k with standard errors");
  auto flags = std::make_shared<EvaluateFlags>();
  const auto needs_no_file = [flags] { return !flags->from.empty() || !flags->data.empty(); };
  add_job_flags(*sub, flags->job, {.flags = "--model M --data ROWS", .are_given = needs_no_file});
  sub->add_option("--model", flags->model, "the model, in place of the configuration's")->type_name("DIR");
  auto* data = sub->add_option(
      "--data", flags->data,
      "instead of a configuration: rows to answer, [SET=]FILE, folder or glob; their columns are detected");
  data->allow_extra_args(false)->type_name("[SET=]ROWS");  // key=value may follow
  for (CLI::Option* option :
       {sub->add_option(
            "--reward", flags->reward,
            "with --data: reward type, or your function as FILE.py:FUNCTION; default: detected from the rows"),
        sub->add_option("--samples", flags->samples, "with --data: responses to each prompt")
            ->check(CLI::Range(int64_t{1}, int64_t{1'000'000}))
            ->capture_default_str(),
        sub->add_option("--temperature", flags->temperature,
                        "with --data: sampling temperature; default: 0 (greedy) for one sample, else 1"),
        sub->add_option("--top-p", flags->top_p,
                        "with --data: probability mass of the likeliest tokens, from which responses are sampled"),
        sub->add_option("--max-new-tokens", flags->max_new_tokens, "with --data: longest response in tokens")})
    option->needs(data);
  sub->add_option("--out", flags->output,
                  "run folder of the evaluation, in place of output_dir; with --from: file of the metrics as JSON");
  sub->add_option(
         "--keep-every", flags->keep_every,
         "judged responses are saved after every this many prompts of a set; --resume continues after the saved ones")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000'000}))
      ->capture_default_str();
  const auto sampling = sub->get_options(
      [](const CLI::Option* option) { return !option->check_name("--out") && !option->check_name("--help"); });
  auto* from = sub->add_option("--from", flags->from,
                               "instead of sampling: recorded responses (a run's rollouts/val_*.jsonl), [SET=]FILE; "
                               "files of one SET are merged, and sets of the same prompts are compared");
  from->allow_extra_args(false)->type_name("[SET=]FILE");
  for (CLI::Option* option : sampling) from->excludes(option);
  sub->callback([flags] { evaluate(*flags); });
}

}  // namespace roll
