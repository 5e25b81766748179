// roll convert-config: converts a configuration of verl, TRL, slime or OpenRLHF to one of ours.
#include "convert/convert.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "app/cli/streams.h"
#include "app/commands.h"
#include "base/error.h"
#include "base/file.h"
#include "base/harmless.h"
#include "base/shell.h"
#include "checkpoint/manifest.h"
#include "convert/python.h"
#include "settings/check_config_text.h"

namespace roll {

namespace {

struct ConvertFlags {
  std::string trainer = "auto", out;
  std::optional<int64_t> num_ranks, pick;
  bool shows_keys = false;
};

constexpr const char* kCommandLine = "command line";
constexpr size_t kMaxConfigBytes = 4 << 20;

/// Arguments of the command: files, then variables of the script, then words that override its values.
struct Arguments {
  std::vector<std::string> files;
  std::map<std::string, std::string> variables;
  std::vector<std::string> script_arguments;  // 1=8 sets the script's first argument
  std::vector<ArgumentWord> words;
};

Arguments sort_arguments(const std::vector<std::string>& all) {
  Arguments arguments;
  for (const std::string& word : all) {
    const size_t equals = word.find('=');
    const bool is_flag = word.starts_with("-");
    const bool is_numbered = equals == 1 && word[0] >= '1' && word[0] <= '9';
    if (is_numbered && static_cast<size_t>(word[0] - '0') != arguments.script_arguments.size() + 1)
      throw user_error("{}: give the script's arguments in order: 1=VALUE, then 2=VALUE", word);
    if (is_numbered)
      arguments.script_arguments.push_back(word.substr(2));
    else if (arguments.words.empty() && !is_flag && equals == std::string::npos)
      arguments.files.push_back(word);
    else if (!is_flag && equals != std::string::npos && shell::is_name(word.substr(0, equals)))
      arguments.variables[word.substr(0, equals)] = word.substr(equals + 1);
    else
      arguments.words.push_back({word, kCommandLine, ""});
  }
  return arguments;
}

std::optional<std::string> read_script_file(const std::string& path) {
  if (!is_there(path) || is_folder(path)) return std::nullopt;
  return read_file(path, kMaxConfigBytes);
}

bool has_ending(const std::string& file, std::initializer_list<const char*> ends) {
  return std::ranges::any_of(ends, [&](const char* end) { return file.ends_with(end); });
}

/// Returns the keys of one file: YAML and JSON hold keys; other files hold a command that passes them.
std::vector<ForeignKey> read_file_keys(const std::string& file, const Arguments& arguments, ConvertFlags& flags,
                                       std::vector<std::string>& notes) {
  const std::string text = read_file(file, kMaxConfigBytes);
  if (has_ending(file, {".yaml", ".yml", ".json"})) return read_yaml_keys(text, file);
  const shell::Reading reading{std::filesystem::absolute(file).lexically_normal(), read_script_file,
                               arguments.variables, arguments.script_arguments};
  const ForeignScript script = file.ends_with(".md")   ? read_markdown(text, file, reading)
                               : file.ends_with(".py") ? read_python(text, file, reading)
                                                       : read_script(text, file, reading);
  ForeignLaunch launch = choose_launch(script, file, flags.pick);
  notes = script.notes;
  if (flags.trainer == "auto" && !launch.trainer.empty()) flags.trainer = launch.trainer;
  if (!launch.condition.empty())
    notes.push_back(fmt::format("{}: whether this command runs depends on {}", launch.place, launch.condition));
  if (flags.shows_keys) print_data(shell_line({"starts", launch.place, launch.program}) + "\n");
  return launch.keys;
}

/// Replaces the keys --config FILE and --config_file FILE of a command by the keys of that file.
std::vector<ForeignKey> expand_config_files(const std::vector<ForeignKey>& keys, const std::string& script,
                                            std::vector<std::string>& notes) {
  std::vector<ForeignKey> all;
  for (const ForeignKey& key : keys) {
    if (key.key == "config" || key.key == "config_file") {
      const std::filesystem::path path_beside_script = std::filesystem::path(script).parent_path() / key.value;
      const std::filesystem::path file = is_there(key.value) ? std::filesystem::path(key.value) : path_beside_script;
      if (is_there(file) && !is_folder(file)) {
        for (ForeignKey& read : read_yaml_keys(read_file(file, kMaxConfigBytes), file)) all.push_back(std::move(read));
        continue;
      }
      notes.push_back(
          fmt::format("{}: {} = {}: not read, because there is no such file here; give the file before the script",
                      key.place, key.key, key.value));
    }
    all.push_back(key);
  }
  return all;
}

std::vector<ForeignKey> read_keys(const Arguments& arguments, ConvertFlags& flags, std::vector<std::string>& notes) {
  std::vector<ForeignKey> keys;
  for (const std::string& file : arguments.files)
    for (ForeignKey& key : expand_config_files(read_file_keys(file, arguments, flags, notes), file, notes))
      keys.push_back(std::move(key));
  for (ForeignKey& key : expand_config_files(read_argument_keys(arguments.words), "", notes))
    keys.push_back(std::move(key));
  return keys;
}

/// Prints "PLACE KEY VALUE" for each key, quoted for a shell, with "? REASON" if the value is unknown.
void show_keys(const std::vector<ForeignKey>& keys) {
  for (const ForeignKey& key : keys) {
    std::vector<std::string> words{key.place, key.key, on_one_line(key.value)};
    if (!key.unknown.empty()) words.insert(words.end(), {"?", on_one_line(key.unknown)});
    print_data(shell_line(words) + "\n");
  }
}

/// Returns the environment variables that the YAML reads and that are not set here.
std::vector<std::string> open_variables(const std::string& yaml) {
  constexpr std::string_view kBegin = "${oc.env:";
  std::vector<std::string> names;
  const auto is_comment = [&](size_t at) {
    const size_t line = yaml.rfind('\n', at) + 1;
    return yaml[line] == '#' || yaml.rfind("  # ", at) + 1 > line;
  };
  for (size_t at = yaml.find(kBegin); at != yaml.npos; at = yaml.find(kBegin, at + 1)) {
    if (is_comment(at)) continue;
    const size_t begin = at + kBegin.size();
    const std::string name = yaml.substr(begin, yaml.find_first_of(",}", begin) - begin);
    if (yaml[begin + name.size()] == '}' && !std::getenv(name.c_str()) && std::ranges::find(names, name) == names.end())
      names.push_back(name);
  }
  return names;
}

/// Checks the result like `roll validate-config --offline`, as if `variables` were set. UserError: it is invalid.
void check(const Converted& converted, const std::vector<std::string>& variables) {
  std::string yaml = converted.yaml;
  for (const std::string& name : variables) {
    const std::string open = "${oc.env:" + name + "}";
    for (size_t at = yaml.find(open); at != yaml.npos; at = yaml.find(open, at)) yaml.replace(at, open.size(), name);
  }
  try {
    check_config_text(converted.command, yaml, "converted.yaml", {.offline = true});
  } catch (const UserError& error) {
    throw user_error("the converted configuration is invalid; give other values after the file:\n{}\n{}",
                     converted.yaml, error.what());
  }
}

void convert(ConvertFlags flags, const std::vector<std::string>& all) {
  // Without this check, --output would count as an argument of the foreign command.
  for (const std::string& word : all)
    if (word == "--output" || word.starts_with("--output="))
      throw UserError(
          "roll convert-config has no flag --output; it is called --out\n`roll convert-config --help` lists them all");
  const Arguments arguments = sort_arguments(all);
  std::vector<std::string> notes;
  const std::vector<ForeignKey> keys = read_keys(arguments, flags, notes);
  if (flags.shows_keys) return show_keys(keys);
  const Converted converted = convert_config(keys, flags.trainer, flags.num_ranks);
  const std::vector<std::string> variables = open_variables(converted.yaml);
  check(converted, variables);
  if (flags.out.empty()) {
    print_data(converted.yaml);
  } else {
    if (is_there(flags.out)) throw user_error("--out = {}: exists already; remove it or choose another", flags.out);
    refuse_in_checkpoint("--out", flags.out);
    write_file_atomic(flags.out, converted.yaml);
  }
  if (!variables.empty())
    notes.push_back(fmt::format("the run needs these environment variables, which the script does not set: {}",
                                fmt::join(variables, ", ")));
  for (const std::string& note : notes) std::fprintf(stderr, "note: %s\n", note.c_str());
  if (!flags.out.empty() || ::isatty(STDOUT_FILENO) == 0) {  // a terminal already shows them above the keys
    for (const std::string& line : converted.differences) std::fprintf(stderr, "differs: %s\n", line.c_str());
    for (const std::string& line : converted.without) std::fprintf(stderr, "without counterpart: %s\n", line.c_str());
  }
  const std::string where = flags.out.empty() ? "FILE" : flags.out;
  std::fprintf(stderr, "converted from %s%s; next: roll validate-config --offline --config %s\n",
               converted.trainer.c_str(),
               converted.command == "train" ? "" : (" for roll " + converted.command).c_str(), where.c_str());
}

}  // namespace

void add_convert_config(CLI::App& app) {
  auto flags = std::make_shared<ConvertFlags>();
  CLI::App* sub = app.add_subcommand("convert-config", "convert a configuration of verl, TRL, slime or OpenRLHF");
  std::vector<std::string> names = foreign_trainer_names();
  names.insert(names.begin(), "auto");
  sub->add_option("--from", flags->trainer,
                  "trainer that it is written for; auto: the one that the script starts, or the one of the first four "
                  "that knows most of the keys")
      ->check(CLI::IsMember(names))
      ->capture_default_str();
  sub->add_option("-n", flags->num_ranks, "number of GPUs, if the keys do not set it; one process per GPU")
      ->check(CLI::Range(1, 65536));
  sub->add_option("--pick", flags->pick,
                  "number of the command, if a script or README has several that start a training")
      ->check(CLI::Range(1, 65536));
  sub->add_flag("--keys", flags->shows_keys, "show the keys that were read, with their lines, and convert nothing");
  sub->add_option("--out", flags->out, "file to write; default: standard output");
  sub->allow_extras();
  sub->footer(
      "Other arguments: YAML files; or a shell script or README with the command that starts the training; or the\n"
      "arguments of that command (data.train_batch_size=1024 ..., --rollout-batch-size 32 ...). After a file, they\n"
      "override its values; NAME=VALUE sets a variable that the script does not set, and 1=VALUE its first argument.\n"
      "No script is run. Fine-tuning becomes a configuration of roll sft, preference training one of roll dpo.\n"
      "Keys that differ in meaning or have no counterpart are printed, with the reason, and listed at the top of the\n"
      "new file.");
  sub->callback([=] { convert(*flags, sub->remaining()); });
}

}  // namespace roll
