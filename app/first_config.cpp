#include "app/first_config.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "app/cli/streams.h"
#include "base/env.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/nearest.h"
#include "checkpoint/hub_cache.h"
#include "config/flag.h"
#include "data/row_files.h"
#include "job/hosts.h"
#include "machine/processor.h"
#include "model/device.h"
#include "model/model_folder.h"
#include "preview/data_report.h"
#include "preview/guess_reward.h"
#include "settings/load_config.h"
#include "settings/memory_estimate.h"

namespace roll {

namespace {

namespace fs = std::filesystem;

constexpr double kUsableMemory = 0.9;  // share of a device; the rest is for the framework and errors of the estimate

RewardArgs reward_args(const std::string& name) {
  RewardArgs args;
  RewardType type;
  if (python_reward(name)) {
    PythonFunctionArgs function;
    function.python = name;
    args.type = function;
    return args;
  }
  read_flag("--reward", name, type, finite());
  args.type = type;
  return args;
}

/// Returns the memory per rank in GB; nullopt if the layout is impossible.
std::optional<double> memory_gb(const std::string& yaml, const ModelSpec& spec, bool on_gpu) {
  try {
    const auto checked = load_config_text(yaml, "a layout", {}, {});
    const RoleShapes models{{kPolicyRole, spec}, {kCriticRole, spec}};
    return estimate_memory(checked.config, models, on_gpu, 0).total() / 1e9;
  } catch (const UserError&) {
    return std::nullopt;
  }
}

/// Returns the last part of a path, glob or Hub name, with characters that suit a folder name.
std::string short_name(const std::string& name) {
  std::string last = (fs::path(name) / "").parent_path().filename().string();
  for (char& c : last)
    if (std::string_view("*?[]{}:\\ ").find(c) != std::string_view::npos) c = '_';
  return last;
}

constexpr const char* kInheritedConfig = "ROLL_MADE_CONFIG";
constexpr size_t kLargestVariable = 100'000;  // Linux allows 128 KB; beyond, ranks measure the rows themselves

/// A configuration made from flags, with notes for the user.
struct GeneratedConfig {
  std::string yaml;
  std::vector<std::string> notes;
};

/// Makes the configuration. num_ranks: GPUs, or processes on the CPU.
GeneratedConfig generate_config(const FirstFlags& flags, int64_t num_ranks, bool on_gpu) {
  if (!flags.model)
    throw UserError("--model: missing; give the model's folder or GGUF file, or its Hub name in the local cache");
  if (flags.data.empty())
    throw user_error("--data: missing; give the {} rows, a file or folder", flags.evaluates ? "sets'" : "training");
  NewRun run;
  run.model = check_model(*flags.model);
  run.data = flags.files.empty() ? find_rows(flags.data, flags.evaluates ? kTestSplits : kTrainingSplits) : flags.files;
  if (flags.validation) run.validation = find_validation_file(*flags.validation);
  GuessedReward reward{.type = flags.reward.value_or(""), .why = "as given"};
  if (flags.reward)
    reward.type = checked_reward(*flags.reward);
  else
    reward = guess_reward(run.data);
  run.reward = reward.type;
  if (flags.algorithm) run.algorithm = parse_algorithm(*flags.algorithm);
  run.num_devices = num_ranks;
  run.on_gpu = on_gpu;
  run.has_fast_bf16 = !flags.evaluates && has_bf16_products(read_processor());
  run.keeps_all = flags.evaluates;
  const fs::path model = model_folder(run.model);
  run.output_dir = fmt::format("./output/{}{}-{}", flags.evaluates ? "evaluate-" : "", short_name(*flags.model),
                               data_name(flags.data.front()));
  run.folder = run.output_dir;
  const RowsReport rows_report = measure_rows(run, model);
  if (flags.evaluates) run.data.resize(1);  // evaluation: training rows are only a placeholder
  const FirstConfig first = first_config(run, read_spec(model), flags.memory_gb);
  GeneratedConfig generated{.yaml = first.yaml, .notes = rows_report.lines};
  if (!first.warning.empty()) generated.notes.push_back(first.warning);
  generated.notes.insert(generated.notes.begin(),
                         fmt::format("without a configuration file: {}the reward {} ({}); {}--reward and key=value "
                                     "override this",
                                     flags.evaluates ? "" : fmt::format("{} with ", enum_name(run.algorithm)),
                                     reward.type, reward.why, flags.evaluates ? "" : "--algorithm, "));
  return generated;
}

}  // namespace

std::string check_model(const std::string& name) {
  const fs::path folder = model_folder(name, "--model");
  read_spec(folder);  // an unknown architecture is reported before its missing tokenizer
  Tokenizer::load(folder);
  return is_there(name) ? fs::canonical(name).string() : name;  // else the name of a Hub model
}

namespace {

std::vector<fs::path> find_files_of_split(const char* flag, const std::vector<std::string>& patterns,
                                          const std::vector<std::string>& splits) {
  const auto split = usual_split(patterns, splits);
  if (split)
    std::fprintf(stderr, "note: %s = %s: has several splits; the split %s is used\n", flag,
                 fmt::format("{}", fmt::join(patterns, ", ")).c_str(), split->c_str());
  return expand_flag_files(flag, patterns, split);
}

}  // namespace

std::vector<std::string> find_rows(const std::vector<std::string>& patterns, const std::vector<std::string>& splits) {
  std::vector<std::string> paths;
  for (const fs::path& file : find_files_of_split("--data", patterns, splits)) {
    Json row;
    if (!open_rows(file)->next(row)) throw user_error("{}: holds no row", file.string());
    paths.push_back(fs::canonical(file).string());
  }
  return paths;
}

std::string find_validation_file(const std::string& file) {
  return fs::canonical(find_files_of_split("--validation", {file}, kValidationSplits).front()).string();
}

std::string checked_reward(const std::string& given) {
  const auto function = python_reward(given);
  const std::string name =
      function ? fs::absolute(function->source).lexically_normal().string() + ":" + function->name : given;
  const RewardArgs args = reward_args(name);
  try {
    if (needs_model(*args.type)) throw UserError("it needs a model");
    make_reward(args, 1, "")->check_files();
  } catch (const UserError& e) {
    if (function) throw user_error("--reward = {}: {}", given, e.what());
    throw user_error(
        "--reward = {}: needs other keys besides its name ({}); use math_rule, and change it in the configuration file",
        given, e.what());
  }
  return name;
}

NewAlgorithm parse_algorithm(const std::string& name) {
  NewAlgorithm algorithm{};
  read_flag("--algorithm", lower_ascii(name), algorithm, finite());
  return algorithm;
}

std::optional<RowColumns> recognise_columns(const std::string& file) {
  const RowFile rows(file, {});
  return rows.layout_note().empty() ? std::nullopt : std::optional(rows.columns());
}

std::string columns_text(const std::string& file) {
  if (const auto layout = recognise_columns(file)) return to_text(*layout);
  Json row;
  open_rows(file)->next(row);
  return row.contains("messages") ? "messages: messages" : "prompt: prompt";
}

std::string data_name(const std::string& name) {
  fs::path last = short_name(name);
  for (const char* extension : {".gz", ".zst", ".parquet", ".jsonl", ".json", ".csv", ".tsv"})
    if (last.extension() == extension) last = last.stem();
  const fs::path data_set = fs::path(name).parent_path();  // the data set in NAME/CONFIGURATION
  const bool has_configuration = data_set.has_parent_path() && !is_there(name);
  return has_configuration ? fmt::format("{}-{}", short_name(data_set.string()), last.string()) : last.string();
}

std::optional<std::string> choose_template(const fs::path& model, const Tokenizer& tokenizer) {
  try {
    ChatTemplate::load(model, "native");
    return std::nullopt;
  } catch (const UserError&) {
    return tokenizer.find_id("<|im_start|>") ? "chatml" : "empty";
  }
}

RowsReport measure_rows(NewRun& run, const fs::path& model) {
  const Tokenizer tokenizer = Tokenizer::load(model);
  run.chat_template = choose_template(model, tokenizer);
  DomainRules rules;
  rules[run.reward_domain()] = make_reward(reward_args(run.reward), 0, "");
  DataInspection question;
  question.one_domain = run.reward_domain();
  question.tokenizer = &tokenizer;
  question.source.model_folder = model;
  question.source.data.file_name = run.data;
  question.source.data.template_name = run.chat_template;
  question.source.rules = &rules;
  const DataReport report = inspect_data(question);
  RowsReport rows_report{.text = to_text(report, question), .lines = report.layouts, .warnings = report.warnings};
  if (!report.bad.empty()) std::fputs(rows_report.text.c_str(), stdout);  // lists further problems
  require_usable(report);
  if (report.num_lines == 0) throw user_error("{}: holds no row", run.data.front());
  for (const DomainView& view : report.views)
    rows_report.lines.push_back(summary_line(view, {.tokenizer = &tokenizer}));
  run.num_rows = report.views.front().num_rows;
  run.prompts = report.views.front().prompts;
  for (const auto& [domain, count] : report.facts.domains) run.domains.push_back(domain);
  run.layout = recognise_columns(run.data.front());
  run.has_messages = run.layout ? !run.layout->prompt : report.facts.columns.contains("messages");
  if (!run.has_messages) run.chat_template.reset();
  return rows_report;
}

FirstConfig first_config(const NewRun& run, const ModelSpec& spec, std::optional<double> limit_gb) {
  FirstConfig first;
  for (const NewLayout& layout : suggest_layouts(run, spec)) {
    const std::string yaml = new_config(run, spec, layout);
    if (!limit_gb) return {yaml, ""};
    const std::optional<double> needed = memory_gb(yaml, spec, run.on_gpu);
    if (needed && *needed <= kUsableMemory * *limit_gb) return {yaml, ""};
    if (needed || first.yaml.empty()) first.yaml = yaml;
    if (!needed) continue;  // the checks refuse this layout, with a reason if no other can be had
    first.warning = fmt::format(
        "a device would need about {:.0f} GB, but has {:.0f} GB; use more devices, a smaller model, or a smaller "
        "response_length",
        *needed, *limit_gb);
  }
  return first;
}

CheckedConfig<Config> load_generated(const FirstFlags& first, const JobFlags& flags,
                                     const std::vector<std::string>& overrides) {
  const LoadOptions options = load_options(flags);
  const Json key = {first.model.value_or(""),      first.data,
                    first.reward.value_or(""),     first.algorithm.value_or(""),
                    first.validation.value_or(""), first.memory_gb.value_or(0)};
  GeneratedConfig generated;
  const Json inherited = parse_json(env(kInheritedConfig).value_or("null"), kInheritedConfig);
  if (inherited.is_object() && inherited.at("key") == key) {
    generated = {inherited.at("yaml").get<std::string>(), inherited.at("notes").get<std::vector<std::string>>()};
  } else {
    const int64_t num_gpus = flags.device == "cpu" ? 0 : num_cuda_devices();
    const int64_t num_local =
        options.hostfile ? num_slots(read_hostfile(*options.hostfile)) : std::max<int64_t>(1, num_gpus);
    generated = generate_config(first, options.num_ranks.value_or(num_local), num_gpus > 0);
    const std::string inheritance = to_line({{"key", key}, {"yaml", generated.yaml}, {"notes", generated.notes}});
    if (!options.is_started && !flags.dry_run && inheritance.size() < kLargestVariable)
      set_env(kInheritedConfig, inheritance);
  }
  auto checked = load_config_text(generated.yaml, "made of --model and --data", overrides, options);
  generated.notes.front() +=
      fmt::format("; {}/config.resolved.yaml will hold the configuration", checked.config.output_dir);
  checked.notes.insert(checked.notes.begin(), generated.notes.begin(), generated.notes.end());
  return checked;
}

}  // namespace roll
