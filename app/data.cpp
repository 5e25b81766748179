// roll data check: what is wrong with data rows, before anything is trained on them.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "app/cli/reward_flags.h"
#include "app/cli/streams.h"
#include "app/commands.h"
#include "base/error.h"
#include "base/file.h"
#include "checkpoint/hub_cache.h"
#include "config/checker.h"
#include "config/flag.h"
#include "config/load.h"
#include "preview/data_report.h"
#include "settings/complete.h"
#include "settings/foreign_words.h"

namespace roll {

namespace {

struct DataFlags {
  std::vector<std::string> files, validation;
  std::string config;
  DataArgs columns;  // messages, prompt and template_name
  std::optional<std::string> model;
  std::optional<int64_t> prompt_length;
  bool lists_all = false;
  Node reward;  // keys of FlaggedReward
};

/// What owns the parts of a question.
struct Asked {
  DomainRules rules;
  std::optional<Tokenizer> tokenizer;
  DataQuestion question;
};

/// `key`: what names the model, for errors.
void measure_with(const std::string& model, const std::string& key, Asked& asked) {
  const auto folder = model_folder(model, key);
  asked.tokenizer = Tokenizer::load(folder);
  asked.question.tokenizer = &*asked.tokenizer;
  asked.question.source.model_folder = folder;
}

void ask_by_flags(const DataFlags& flags, Asked& asked) {
  FlaggedReward reward;
  read_flags(flags.reward, reward);
  DataQuestion& question = asked.question;
  question.source.data = flags.columns;
  question.source.prompt_length = flags.prompt_length.value_or(0);
  question.response_length = reward.response_length.value_or(0);
  if (reward.reward.type) {
    const std::string domain(name_of(*reward.reward.type));
    asked.rules[domain] = make_reward(reward.reward, question.response_length, "--");
    question.one_domain = domain;
  }
  if (flags.model) measure_with(*flags.model, "--model", asked);
  if (flags.validation.empty()) return;
  files_of_flag("--validation", flags.validation);
  question.validation = flags.columns;
  question.validation->file_name = flags.validation;
}

/// A training configuration, completed as for a run; what is not about data may be wrong.
Config completed_config(const std::string& file) {
  auto loaded = load_yaml<Config>(read_file(file), file, {}, foreign_advice<Config>);
  const KeyIndex keys(loaded.config, std::move(loaded.set), loaded.origin);
  Checker check(keys, loaded.notes);
  complete(loaded.config, check);
  check.throw_if_any();
  return std::move(loaded.config);
}

void refuse_beside_config(const DataFlags& flags) {
  const auto refuse = [](const std::string& flag) {
    throw user_error("--{}: --config says how rows are read and scored; leave this out", flag);
  };
  if (!flags.reward.map.empty()) refuse(flags.reward.map.front().key);
  if (flags.model) refuse("model");
  if (flags.prompt_length) refuse("prompt-length");
  if (!flags.validation.empty()) refuse("validation");
  if (flags.columns.messages || flags.columns.prompt) refuse(flags.columns.messages ? "messages" : "prompt");
  if (flags.columns.template_name) refuse("template");
}

void ask_by_config(const DataFlags& flags, Asked& asked) {
  refuse_beside_config(flags);
  const Config config = completed_config(flags.config);
  asked.rules = rules_of(config);
  asked.question.source = source_of(config, {}, config.actor_train.data_args, config.prompt_length, asked.rules);
  asked.question.response_length = config.response_length.value_or(0);
  asked.question.validation = config.validation.data_args;
  const auto& model = config.actor_train.model_args.model_name_or_path;
  const char* key = model == config.pretrain ? "pretrain" : "actor_train.model_args.model_name_or_path";
  measure_with(*model, fmt::format("{}: {}", flags.config, key), asked);
}

void check_data_rows(const DataFlags& flags) {
  Asked asked;
  flags.config.empty() ? ask_by_flags(flags, asked) : ask_by_config(flags, asked);
  DataQuestion& question = asked.question;
  question.lists_all = flags.lists_all;
  if (!flags.files.empty()) question.source.data.file_name = flags.files;
  if (question.source.data.file_name.empty())
    throw user_error("FILE: missing; name the JSON-lines files, or a --config that does");
  const std::string key = flags.files.empty() ? flags.config + ": actor_train.data_args.file_name" : "FILE";
  files_of_flag(key, question.source.data.file_name);
  if (!asked.rules.empty()) question.source.rules = &asked.rules;
  const DataReport report = look_at(question);
  std::fputs(to_text(report, question).c_str(), stdout);
  std::fflush(stdout);
  print_warnings(report.warnings);
  if (asked.rules.empty())
    std::fprintf(stderr, "note: no reward was asked; --type math_rule, say, shows whether it can judge these rows\n");
  require_usable(report);
}

}  // namespace

void add_data(CLI::App& app) {
  auto* data = app.add_subcommand("data", "looks at data rows; `roll data check FILE` says what is wrong with them");
  data->require_subcommand(1);
  auto* check = data->add_subcommand("check", "rows, lengths, repeats, and whether a reward can judge them");
  auto flags = std::make_shared<DataFlags>();
  check->add_option("files", flags->files, "JSON lines: paths or globs; default: the training rows of --config");
  check->add_option("--config", flags->config, "YAML of a training: its model, columns, domains, lengths and rewards");
  check->add_option("--model", flags->model, "folder or Hub name: lengths are in its tokens, through its template");
  check->add_option("--prompt-length", flags->prompt_length, "tokens; says how many rows are longer")
      ->check(CLI::PositiveNumber);
  check->add_option("--messages", flags->columns.messages, "column of chat messages; default: messages, else prompt");
  check->add_option("--prompt", flags->columns.prompt, "column of raw prompt text");
  check->add_option("--validation", flags->validation,
                    "JSON lines that a run will validate on: warned of where they are among the others");
  check->add_flag("--all", flags->lists_all, "lists every line of which something is said, instead of the first few");
  check->add_option("--template", flags->columns.template_name, "chat template; default: the model's own");
  add_reward_flags(*check, flags->reward);
  check->callback([flags] { check_data_rows(*flags); });
}

}  // namespace roll
