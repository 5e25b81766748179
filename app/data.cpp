// roll data check: reports problems of data rows before training. roll data convert: converts rows of other formats and
// columns to our JSON lines.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <memory>

#include "app/cli/reward_flags.h"
#include "app/cli/streams.h"
#include "app/commands.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "checkpoint/hub_cache.h"
#include "config/checker.h"
#include "config/flag.h"
#include "config/load.h"
#include "data/row_files.h"
#include "preview/data_report.h"
#include "preview/guess_reward.h"
#include "settings/complete.h"
#include "settings/foreign_words.h"

namespace roll {

namespace {

struct DataFlags {
  std::vector<std::string> files, validation;
  std::string config;
  DataArgs data;  // split, columns and template_name
  std::string ground_truth_part = "whole", output;
  std::optional<std::string> model;
  std::optional<int64_t> prompt_length;
  bool lists_all = false;
  Node reward;  // keys of FlaggedReward
};

/// A DataInspection with the objects that it points to.
struct QuestionParts {
  DomainRules rules;
  std::optional<Tokenizer> tokenizer;
  DataInspection question;
  std::vector<std::pair<std::string, DataArgs>> validation;  // from a configuration: key and data_args of each set
  int64_t val_prompt_length = 0;
};

/// Sets the tokenizer and folder of `model`. key: flag or key of the model, for errors.
void set_model(const std::string& model, const std::string& key, QuestionParts& parts) {
  const auto folder = model_folder(model, key);
  parts.tokenizer = Tokenizer::load(folder);
  parts.question.tokenizer = &*parts.tokenizer;
  parts.question.source.model_folder = folder;
}

void read_part(DataFlags& flags) {
  read_flag("--ground-truth-part", flags.ground_truth_part, flags.data.ground_truth_part, finite());
}

void set_question_from_flags(const DataFlags& flags, QuestionParts& parts) {
  FlaggedReward reward;
  read_flags(flags.reward, reward);
  DataInspection& question = parts.question;
  question.source.data = flags.data;
  question.source.prompt_length = flags.prompt_length.value_or(0);
  question.response_length = reward.response_length.value_or(0);
  if (reward.reward.type) {
    const std::string domain(enum_name(*reward.reward.type));
    parts.rules[domain] = make_reward(reward.reward, question.response_length, "--");
    question.one_domain = domain;
  }
  if (flags.model) set_model(*flags.model, "--model", parts);
  if (flags.validation.empty()) return;
  expand_flag_files("--validation", flags.validation, flags.data.split);
  question.validation = {flags.data};
  question.validation[0].file_name = flags.validation;
}

/// Loads a training configuration and completes its defaults; does not check keys that are unrelated to data.
Config load_completed_config(const std::string& file) {
  auto loaded = load_yaml<Config>(read_file(file), file, {}, foreign_advice<Config>);
  Checker check({loaded.config, std::move(loaded.set), loaded.origin}, loaded.notes);
  complete(loaded.config, check);
  check.throw_if_any();
  return std::move(loaded.config);
}

void refuse_flags_beside_config(const DataFlags& flags) {
  const auto refuse = [](const std::string& flag) {
    throw user_error("--{}: --config already sets how rows are read and scored; leave this flag out", flag);
  };
  if (!flags.reward.map.empty()) refuse(reward_flag(flags.reward.map.front().key));
  if (flags.model) refuse("model");
  if (flags.prompt_length) refuse("prompt-length");
  if (!flags.validation.empty()) refuse("validation");
  if (flags.data.names_prompt() || configured_columns(flags.data) != RowColumns{})
    refuse("messages, --prompt and the like");
  if (flags.data.template_name) refuse("template");
}

void set_question_from_config(const DataFlags& flags, QuestionParts& parts) {
  refuse_flags_beside_config(flags);
  const Config config = load_completed_config(flags.config);
  parts.rules = make_domain_rules(config);
  parts.question.source =
      make_prompt_source(config, {}, config.actor_train.data_args, config.prompt_length, parts.rules);
  parts.question.response_length = config.response_length.value_or(0);
  parts.val_prompt_length = config.val_prompt_length.value_or(config.prompt_length);
  if (!config.validation.data_args.file_name.empty())
    parts.validation.emplace_back("validation", config.validation.data_args);
  for (const auto& [name, set] : config.validation.sets)
    parts.validation.emplace_back("validation.sets." + name, set.data_args);
  for (const auto& [key, data] : parts.validation) parts.question.validation.push_back(data);
  const auto& model = config.actor_train.model_args.model_name_or_path;
  const char* key = model == config.pretrain ? "pretrain" : "actor_train.model_args.model_name_or_path";
  set_model(*model, fmt::format("{}: {}", flags.config, key), parts);
}

void note_reward(const std::vector<std::string>& files, const RowColumns& columns) {
  std::string choice = "for example, --reward math_rule";
  try {
    const GuessedReward guessed = guess_reward(files, columns);
    choice = fmt::format("{}: --reward {}", guessed.why, guessed.type);
  } catch (const UserError&) {  // the rows give no hint
  }
  std::fprintf(stderr, "note: no reward given; %s shows whether it can judge these rows\n", choice.c_str());
}

DataReport show(const DataInspection& question) {
  DataReport report = inspect_data(question);
  std::fputs(to_text(report, question).c_str(), stdout);
  std::fflush(stdout);
  print_warnings(report.warnings);
  return report;
}

/// Checks the validation sets like the training rows, with the configuration's rewards.
void check_validation(const QuestionParts& parts) {
  for (const auto& [key, data] : parts.validation) {
    std::printf("\n%s:\n", key.c_str());
    DataInspection question = parts.question;
    question.source.data = data;
    question.source.prompt_length = parts.val_prompt_length;
    question.validation.clear();
    try {
      require_usable(show(question));
    } catch (const UserError& e) {
      throw user_error("{}.data_args.file_name: {}", key, e.what());
    }
  }
}

void check_data_rows(DataFlags& flags) {
  read_part(flags);
  Log log(std::cerr, std::cerr, {.terminal = describe_terminal(2)});
  QuestionParts parts;
  parts.question.log = &log;
  flags.config.empty() ? set_question_from_flags(flags, parts) : set_question_from_config(flags, parts);
  DataInspection& question = parts.question;
  question.lists_all = flags.lists_all;
  if (!flags.files.empty()) question.source.data.file_name = flags.files;
  if (question.source.data.file_name.empty())
    throw user_error("FILE: missing; name the files of rows, or a --config that names them");
  const std::string key = flags.files.empty() ? flags.config + ": actor_train.data_args.file_name" : "FILE";
  const auto files = expand_flag_files(key, question.source.data.file_name, question.source.data.split);
  if (!parts.rules.empty()) question.source.rules = &parts.rules;
  const DataReport report = show(question);
  if (parts.rules.empty()) note_reward({files.begin(), files.end()}, configured_columns(question.source.data));
  require_usable(report);
  if (flags.files.empty()) check_validation(parts);
}

void convert_rows(DataFlags& flags) {
  read_part(flags);
  const auto files = expand_flag_files("FILE", flags.files, flags.data.split);
  check_parent_folder("--out", flags.output);
  for (const auto& file : files)
    if (std::error_code ec; std::filesystem::equivalent(file, flags.output, ec))
      throw user_error("--out = {}: is one of the input files; write to another file", flags.output);
  int64_t count = 0;
  write_file_atomic(flags.output, [&](const AppendBytes& append) {
    for_each_row(files, configured_columns(flags.data), [&](const Row& row, const RowFile& file) {
      append(to_line(own_columns(row, file.columns())) + "\n");
      ++count;
    });
  });
  for (const auto& file : files)
    if (const RowFile rows(file, configured_columns(flags.data)); !rows.layout_note().empty())
      std::printf("%s\n", rows.layout_note().c_str());
  std::printf("%s: %lld rows\n", flags.output.c_str(), static_cast<long long>(count));
}

void add_column_flags(CLI::App& command, DataFlags& flags) {
  DataArgs& data = flags.data;
  command.add_option("--split", data.split, "split of a folder or data set: train, test, ...");
  command.add_option("--messages", data.messages,
                     "column of chat messages, by name or path (a.b); default: the detected layout, else messages");
  command.add_option("--question", data.question, "column of a text that becomes the user's message");
  command.add_option("--prompt", data.prompt, "column of raw prompt text");
  command.add_option("--ground-truth", data.ground_truth, "column of the right answer");
  command.add_option(
      "--ground-truth-part", flags.ground_truth_part,
      "part of that column: whole, after_hashes (after its last ####), last_boxed (in its last \\boxed{})");
  command.add_option("--tag", data.tag, "column of the tag");
  command.add_option("--domain", data.domain, "column of the domain");
}

}  // namespace

void add_data(CLI::App& app) {
  auto* data = app.add_subcommand(
      "data",
      "data rows: `roll data check FILE` reports their problems, `roll data convert` writes them as JSON lines");
  data->require_subcommand(1);
  auto* check = data->add_subcommand("check", "rows, lengths, repeats, and whether a reward can judge them");
  auto flags = std::make_shared<DataFlags>();
  check->add_option(
      "files", flags->files,
      "JSON lines, JSON arrays, CSV, Parquet: paths, globs, folders, data sets of the Hub cache; default: the "
      "training rows of --config");
  check->add_option("--config", flags->config, "YAML of a training: its model, columns, domains, lengths and rewards");
  check->add_option("--model", flags->model,
                    "folder or Hub name; its tokenizer and chat template determine the lengths");
  check->add_option("--prompt-length", flags->prompt_length, "longest prompt in tokens; the report counts longer rows")
      ->check(CLI::PositiveNumber);
  add_column_flags(*check, *flags);
  check->add_option("--validation", flags->validation,
                    "rows that a run will validate on; warns if they are among the training rows");
  check->add_flag("--all", flags->lists_all, "list every line with a problem, instead of the first few");
  check->add_option("--template", flags->data.template_name, "chat template; default: the model's own");
  add_reward_flags(*check, flags->reward);
  check->callback([flags] { with_flag_names([&] { check_data_rows(*flags); }); });

  auto* convert = data->add_subcommand("convert", "convert rows of any format and layout to this program's JSON lines");
  convert->add_option("files", flags->files, "as for data check")->required();
  convert->add_option("--out", flags->output, "the file of JSON lines")->required();
  add_column_flags(*convert, *flags);
  convert->callback([flags] { convert_rows(*flags); });
}

}  // namespace roll
