// roll convert-config: another trainer's configuration as one of ours.
#include "convert/convert.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "app/cli/streams.h"
#include "app/commands.h"
#include "base/error.h"
#include "base/file.h"
#include "base/shell.h"
#include "checkpoint/manifest.h"

namespace roll {

namespace {

struct ConvertFlags {
  std::string trainer = "auto", out;
  int64_t num_ranks = 1;
};

bool is_yaml(const std::string& word) {
  return word.ends_with(".yaml") || word.ends_with(".yml") || word.ends_with(".json");
}

constexpr const char* kCommandLine = "command line";

/// Of files and words of a command line alike: where both say something, the words count.
std::vector<ForeignKey> read_keys(const std::vector<std::string>& words) {
  std::vector<ForeignKey> keys;
  std::vector<std::string> line;
  for (const std::string& word : words) {
    const bool is_file = line.empty() && !word.starts_with("-") && word.find('=') == std::string::npos;
    if (!is_file) {
      line.push_back(word);
      continue;
    }
    const std::string text = read_file(word);
    for (ForeignKey& key : is_yaml(word) ? keys_of_yaml(text, word) : keys_of_script(text, word))
      keys.push_back(std::move(key));
  }
  for (ForeignKey& key : keys_of_script(shell_line(line), kCommandLine)) {
    key.place = kCommandLine;  // it has no lines
    keys.push_back(std::move(key));
  }
  return keys;
}

void convert(const ConvertFlags& flags, const std::vector<std::string>& words) {
  const Converted converted = convert_config(read_keys(words), flags.trainer, flags.num_ranks);
  if (flags.out.empty()) {
    print_data(converted.yaml);
  } else {
    if (is_there(flags.out)) throw user_error("--out = {}: exists already; remove it or choose another", flags.out);
    refuse_in_checkpoint("--out", flags.out);
    write_file_atomic(flags.out, converted.yaml);
  }
  if (!flags.out.empty() || ::isatty(STDOUT_FILENO) == 0) {  // a terminal has just shown them, above the keys
    for (const std::string& line : converted.differences) std::fprintf(stderr, "differs: %s\n", line.c_str());
    for (const std::string& line : converted.without) std::fprintf(stderr, "without counterpart: %s\n", line.c_str());
  }
  const std::string where = flags.out.empty() ? "FILE" : flags.out;
  std::fprintf(stderr, "converted from %s; next: roll validate-config --offline --config %s\n",
               converted.trainer.c_str(), where.c_str());
}

}  // namespace

void add_convert_config(CLI::App& app) {
  auto flags = std::make_shared<ConvertFlags>();
  CLI::App* sub =
      app.add_subcommand("convert-config", "a configuration of verl, TRL, slime or OpenRLHF as one of roll's");
  std::vector<std::string> names = foreign_trainer_names();
  names.insert(names.begin(), "auto");
  sub->add_option("--from", flags->trainer, "whose it is; auto: whoever knows most of the keys")
      ->check(CLI::IsMember(names))
      ->capture_default_str();
  sub->add_option("-n", flags->num_ranks, "processes, where the keys do not say it (TRL)")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  sub->add_option("--out", flags->out, "file to write; default: standard output");
  sub->allow_extras();
  sub->footer(
      "Its other arguments: a YAML file, a shell script that starts the training, that command's own "
      "arguments\n"
      "(data.train_batch_size=1024 ..., --rollout-batch-size 32 ...), or a file with arguments behind it that replace "
      "its values.\n"
      "What differs in meaning, and which keys have no counterpart and why, is told and stands in the file's head.");
  sub->callback([=] { convert(*flags, sub->remaining()); });
}

}  // namespace roll
