// roll new: writes a first configuration for the user's model and rows, from flags or questions on the terminal.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/cli/streams.h"
#include "app/commands.h"
#include "app/first_config.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/nearest.h"
#include "base/shell.h"
#include "checkpoint/hub_cache.h"
#include "checkpoint/manifest.h"
#include "config/flag.h"
#include "data/row_files.h"
#include "forecast/time_forecast.h"
#include "machine/processor.h"
#include "model/device.h"
#include "model/model_folder.h"
#include "preview/config_data.h"
#include "preview/guess_reward.h"
#include "preview/new_run.h"
#include "settings/load_config.h"
#include "train/sft_data.h"

namespace roll {

namespace {

namespace fs = std::filesystem;

constexpr double kFirstStep_s = 60, kLongStep_s = 300;
constexpr int64_t kFewPrompts = 4;

struct NewFlags {
  std::string folder;
  std::optional<std::string> model, reward, algorithm, validation;
  std::vector<std::string> data;
  std::optional<int64_t> devices;
  std::optional<double> memory_gb;
  bool yes = false, sft = false, examples = false;
};

/// Asks on the terminal until `check` accepts the answer; an empty answer means `default_value`.
template <class F>
std::string ask_until_valid(const std::string& question, const std::string& default_value, const F& check) {
  for (std::string answer;;) {
    std::cout << question << (default_value.empty() ? "" : " [" + default_value + "]") << ": " << std::flush;
    if (!std::getline(std::cin, answer)) {
      std::cout << std::endl;
      throw UserError("the input ended before all questions were answered; start again, or give the answers as flags");
    }
    if (answer.empty()) answer = default_value;
    if (answer.starts_with("~/")) answer = env("HOME").value_or("~") + answer.substr(1);
    try {
      if (answer.empty()) throw UserError("an answer is needed; Ctrl-C ends this");
      check(answer);
      return answer;
    } catch (const UserError& e) {
      std::cout << e.what() << std::endl;
    }
  }
}

/// Returns the flag's value, else the answer to a question, else the default `default_value` ("": no default).
template <class F>
std::string ask_or_default(const NewFlags& flags, const char* flag, const std::optional<std::string>& flag_value,
                           const std::string& question, const std::string& default_value, const F& check) {
  const bool is_terminal = ::isatty(STDIN_FILENO) == 1;
  if (!flag_value && is_terminal && !flags.yes) return ask_until_valid(question, default_value, check);
  if (!flag_value && default_value.empty())
    throw user_error("--{}: missing; give {} (on a terminal, this command asks for it)", flag, question);
  const std::string value = flag_value.value_or(default_value);
  check(value);
  return value;
}

std::string ask_model(const NewFlags& flags) {
  std::string model;
  const auto check = [&](const std::string& name) { model = check_model(name); };
  ask_or_default(flags, "model", flags.model, "the model's folder or GGUF file, or its Hub name in the local cache", "",
                 check);
  return model;
}

std::vector<std::string> ask_data(const NewFlags& flags) {
  if (flags.data.size() > 1) return find_rows(flags.data);
  std::vector<std::string> rows;
  const auto check = [&](const std::string& file) { rows = find_rows({file}); };
  const auto flag_value = flags.data.empty() ? std::nullopt : std::optional(flags.data[0]);
  ask_or_default(flags, "data", flag_value, "the training rows, a file or folder", "", check);
  return rows;
}

/// Returns the reward type; the default is guessed from the rows.
std::string ask_reward(const NewFlags& flags, const std::vector<std::string>& data) {
  std::string default_value;
  if (!flags.reward) try {
      const GuessedReward guessed = guess_reward(data);
      default_value = guessed.type;
      std::printf("reward: %s looks right: %s\n", default_value.c_str(), guessed.why.c_str());
    } catch (const UserError&) {
      if (flags.yes || ::isatty(STDIN_FILENO) != 1) throw;
    }
  std::string reward;
  ask_or_default(
      flags, "reward", flags.reward,
      "the reward type: math_rule, exact_match, multiple_choice, ifeval, code_sandbox, ..., or FILE.py:FUNCTION",
      default_value, [&](const std::string& given) { reward = checked_reward(given); });
  return reward;
}

NewAlgorithm ask_algorithm(const NewFlags& flags) {
  return parse_algorithm(ask_or_default(flags, "algorithm", flags.algorithm, "the algorithm: grpo, ppo or reinforce",
                                        "grpo", [](const std::string& name) { parse_algorithm(name); }));
}

int64_t ask_num_devices(const NewFlags& flags) {
  int64_t devices = 0;
  const auto check = [&](const std::string& text) { read_flag("--devices", text, devices, within(1, 65536)); };
  const auto flag_value = flags.devices ? std::optional(std::to_string(*flags.devices)) : std::nullopt;
  ask_or_default(flags, "devices", flag_value, "the number of GPUs, or of processes without GPUs",
                 std::to_string(std::max<int64_t>(1, num_cuda_devices())), check);
  return devices;
}

/// Loads the written file like `subcommand`, and prints its plan, data, forecast and start command. `known`: the
/// forecast, if it was made already.
template <class Load>
void show_result(const NewRun& run, const char* subcommand, const Load& load,
                 const std::optional<TimeForecast>& known = {}) {
  const fs::path file = fs::path(run.folder) / "config.yaml";
  LoadOptions options;
  std::vector<std::string> command{"roll", subcommand, "--config", file.string()};
  if (!run.on_gpu && run.num_devices > 1) {  // on GPUs, device_mapping sets the number
    options.num_ranks = run.num_devices;
    command.insert(command.end(), {"-n", std::to_string(run.num_devices)});
  }
  const auto checked = load(file, std::vector<std::string>(), options);
  std::printf("\n%s\n", checked.plan.c_str());
  if (!checked.algorithm.empty())  // empty for fine-tuning
    std::printf("%s\n%s\n", checked.algorithm.c_str(), checked.memory.c_str());
  const ConfigData data = view_data(checked.config, false);
  for (const std::string& line : data.lines) std::printf("%s\n", line.c_str());
  print_warnings(data.warnings);
  std::fflush(stdout);
  std::printf("%s\n", to_text(known ? *known : forecast_time(checked, data)).c_str());
  std::printf("\n%s is written and valid. Read it, then:\n\n  %s\n", file.c_str(), shell_line(command).c_str());
}

constexpr const char* kExampleFiles[] = {"README.md",      "reward.py",          "my_reward.cpp",  "my_loss.cpp",
                                         "environment.py", "my_environment.cpp", "build_plugin.sh"};

/// Writes example programs and plug-ins for rewards, a loss and environments, with the headers to build them.
void write_examples(const fs::path& target) {
  write_folder_atomic(target, [](const fs::path& folder) {
    fs::create_directory(folder / "roll");
    for (const char* name : kExampleFiles)
      fs::copy_file(find_shipped_file({std::string("configs/examples/") + name}), folder / name);
    for (const std::string kind : {"reward", "loss", "environment"}) {
      const std::string header = "roll/" + kind + ".h";
      fs::copy_file(find_shipped_file({"include/" + header, "lib/" + kind + "/" + header}), folder / header);
    }
  });
  std::printf(
      "%s holds programs and plug-ins for a reward, a loss and an environment; its README.md shows how to use them\n",
      target.c_str());
}

/// Without GPUs, reduces the prompts per step to about a minute per step, but not below a useful minimum. Returns the
/// forecast unless the prompts changed.
std::optional<TimeForecast> fit_to_machine(NewRun& run, const ModelSpec& spec, std::optional<double> memory_gb) {
  if (run.on_gpu) return {};
  const FirstConfig first = first_config(run, spec, memory_gb);
  const auto checked = load_config_text(first.yaml, "a first configuration", {}, {.num_ranks = run.num_devices});
  const TimeForecast forecast = forecast_time(checked, view_data(checked.config, false));
  const double step_s = forecast.step_s;
  if (step_s <= kFirstStep_s) return forecast;
  const double fewer = static_cast<double>(run.prompts_per_step) * kFirstStep_s / step_s;
  const int64_t before = std::exchange(run.prompts_per_step, std::max(kFewPrompts, static_cast<int64_t>(fewer)));
  std::printf("a step of %lld prompts may take %s on this machine, so the file has %lld\n",
              static_cast<long long>(before), duration_text(step_s).c_str(),
              static_cast<long long>(run.prompts_per_step));
  const double left_s = step_s * static_cast<double>(run.prompts_per_step) / static_cast<double>(before);
  if (left_s > kLongStep_s)
    print_warnings(
        {fmt::format("even then a step may take {}, and a first result hours; a smaller model, a smaller "
                     "response_length or a GPU would help",
                     duration_text(left_s))});
  return {};
}

void require_new_folder(const std::string& folder) {
  if (is_there(folder) && (!is_folder(folder) || !list_folder(folder).empty()))
    throw user_error("DIR = {}: exists and is not an empty folder; choose another one", folder);
  refuse_in_checkpoint("DIR", folder);
}

/// Returns true if fine-tuning rows like this one need a chat template.
bool is_chat(const Json& row) {
  const auto is_list = [&](const char* name) { return row.contains(name) && row[name].is_array(); };
  return row.contains("messages") || row.contains("conversations") || is_list("prompt") || is_list("completion");
}

/// Measures the fine-tuning rows with the model's tokenizer and template: lengths, number, column layout.
void measure_sft_rows(NewRun& run, const fs::path& folder, const ModelSpec& spec) {
  const Tokenizer tokenizer = Tokenizer::load(folder);
  run.chat_template = choose_template(folder, tokenizer);
  SftConfig config;
  config.sequence_length = spec.most_positions();
  DataArgs data;
  data.file_name = run.data;
  data.template_name = run.chat_template;
  const StoredRows<SftRow> rows = load_sft_rows(config, data, folder, tokenizer).rows;
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < rows.size(); ++i) lengths.push_back(std::ssize(rows.at(i).ids));
  run.prompts = summarise_lengths(lengths);
  run.num_rows = std::ssize(lengths);
  Json first;
  open_rows(run.data.front())->next(first);
  const RowColumns columns = learnt_columns(first, run.data.front(), LearntRows::kResponses);
  if (columns.names_prompt()) run.layout = columns;
  run.has_messages = run.layout || is_chat(first);
  if (!run.has_messages) run.chat_template.reset();
}

void make_sft(const NewFlags& flags, NewRun run) {
  for (const auto& [flag, flag_value] : {std::pair("reward", flags.reward), std::pair("algorithm", flags.algorithm)})
    if (flag_value)
      throw user_error("--{} = {}: does not apply to fine-tuning; leave out this flag or --sft", flag, *flag_value);
  const fs::path model = model_folder(run.model);
  const ModelSpec spec = read_spec(model);
  measure_sft_rows(run, model, spec);
  write_folder_atomic(run.folder, [&](const fs::path& folder) {
    write_file_atomic(folder / "config.yaml", new_sft_config(run, spec));
  });
  show_result(run, "sft", load_sft_config);
}

void make_new(const NewFlags& flags) {
  require_new_folder(flags.folder);
  if (flags.examples) return write_examples(flags.folder);
  NewRun run{.folder = fs::weakly_canonical(fs::absolute(flags.folder)).string()};
  run.output_dir = run.folder + "/run";
  run.model = ask_model(flags);
  run.data = ask_data(flags);
  if (flags.validation) run.validation = find_validation_file(*flags.validation);
  if (!flags.sft) {
    run.reward = ask_reward(flags, run.data);
    run.algorithm = ask_algorithm(flags);
  }
  run.num_devices = ask_num_devices(flags);
  run.on_gpu = num_cuda_devices() > 0 || flags.memory_gb;
  run.has_fast_bf16 = has_bf16_products(read_processor());
  if (flags.sft) return make_sft(flags, run);
  const fs::path model = model_folder(run.model);
  const ModelSpec spec = read_spec(model);
  const RowsReport rows_report = measure_rows(run, model);
  std::fputs(rows_report.text.c_str(), stdout);
  std::fflush(stdout);
  print_warnings(rows_report.warnings);
  const std::optional<TimeForecast> forecast = fit_to_machine(run, spec, flags.memory_gb);
  const FirstConfig first = first_config(run, spec, flags.memory_gb);
  write_folder_atomic(run.folder,
                      [&](const fs::path& folder) { write_file_atomic(folder / "config.yaml", first.yaml); });
  if (!first.warning.empty()) print_warnings({first.warning});
  show_result(run, "train", load_config, forecast);
}

}  // namespace

void add_new(CLI::App& app) {
  auto* sub = app.add_subcommand("new", "write a first configuration for your model and rows, from flags or questions");
  auto flags = std::make_shared<NewFlags>();
  sub->add_option("dir", flags->folder, "new folder, for config.yaml and later the run")->required();
  sub->add_option("--model", flags->model, "folder, GGUF file or Hub name");
  sub->add_option("--data", flags->data, "training rows: JSON lines, paths or globs");
  sub->add_option("--validation", flags->validation, "validation rows, which are never trained on");
  sub->add_option("--reward", flags->reward,
                  "reward type, or your function as FILE.py:FUNCTION; default: detected from the rows");
  sub->add_option("--algorithm", flags->algorithm, "grpo, ppo or reinforce; default: grpo");
  sub->add_option("--devices", flags->devices,
                  "number of GPUs, or of processes without GPUs; default: this machine's GPUs, or 1");
  sub->add_option("--memory-gb", flags->memory_gb,
                  "GB of one GPU, to choose the parallel layout; also plans for GPUs on a machine without any")
      ->check(CLI::PositiveNumber);
  sub->add_flag("--sft", flags->sft, "a supervised fine-tuning, on rows with responses");
  sub->add_flag(
      "--examples", flags->examples,
      "write examples of custom rewards, losses and environments, ready to build, instead of a configuration");
  sub->add_flag("--yes", flags->yes, "ask nothing; flags that are not given have their defaults");
  sub->callback([flags] { make_new(*flags); });
}

}  // namespace roll
