#include "app/cli/parse.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <regex>
#include <sstream>

#include "app/cli/config_flags.h"
#include "base/error.h"
#include "base/nearest.h"
#include "base/terminal.h"

namespace roll {

namespace {

std::vector<std::string> subcommand_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  return names;
}

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

/// Checks the words up to the last subcommand, where CLI11 would only report a missing one. UserError: an unknown word
/// or flag.
void check_subcommand(const CLI::App& app, int argc, char** argv) {
  const CLI::App* current = &app;
  std::string command = "roll";
  for (int i = 1; i < argc; ++i) {
    const auto names = subcommand_names(*current);
    const auto flags = flag_names(*current);
    const std::string word = argv[i];
    if (names.empty()) return;
    if (word.starts_with('-')) {
      if (std::find(flags.begin(), flags.end(), word) == flags.end())
        throw user_error("{} has no flag {}{}\n`{} --help` lists them all", command, word, did_you_mean(word, flags),
                         command);
      continue;
    }
    if (std::find(names.begin(), names.end(), word) == names.end())
      throw user_error("there is no subcommand '{}'{}\nsubcommands: {}", (command + " " + word).substr(5),
                       did_you_mean(word, names), fmt::join(names, ", "));
    current = current->get_subcommand(word);
    command += " " + word;
  }
}

/// Returns the argument after `word`, or "".
std::string word_behind(const std::string& word, int argc, char** argv) {
  char** const found = std::find(argv, argv + argc, word);
  return found + 1 < argv + argc ? found[1] : "";
}

/// Returns the innermost chosen subcommand and its full name, e.g. "roll data check".
std::pair<const CLI::App*, std::string> chosen_command(const CLI::App& app) {
  std::pair<const CLI::App*, std::string> current{&app, "roll"};
  for (auto chosen = app.get_subcommands(); !chosen.empty(); chosen = current.first->get_subcommands())
    current = {chosen.front(), current.second + " " + chosen.front()->get_name()};
  return current;
}

/// Another command's or program's name for one of our flags.
struct OtherName {
  const char* other;
  const char* flag_here;
};

constexpr OtherName kOtherNames[] = {
    {"--output", "--out"}, {"-o", "--out"},          {"--type", "--reward"},         {"--memory", "--memory-gb"},
    {"-n", "--samples"},   {"--chat", "--template"}, {"--gb-memory", "--memory-gb"},
};

/// Returns the hint "; it is called --out" if `flag` is another name of a flag of `sub`, else "".
std::string hint_own_name(const CLI::App& sub, const std::string& flag) {
  const std::string command = sub.get_name();
  if (command == "new" && (flag == "--out" || flag == "--output"))
    return "; give the folder after the command: roll new DIR";
  for (const auto& [other, flag_here] : kOtherNames)
    if (flag == other && sub.get_option_no_throw(flag_here)) return fmt::format("; it is called {}", flag_here);
  return "";
}

/// Returns the error for the first argument that no flag or positional accepts.
UserError unknown_word(const CLI::App& app, int argc, char** argv) {
  const auto [where, command] = chosen_command(app);
  for (std::string word : app.remaining(true)) {
    if (!word.starts_with('-') || word == "--") continue;
    const std::string key = override_hint(*where, word, word_behind(word, argc, argv));
    word = word.substr(0, word.find('='));
    const std::string flag = word.starts_with("--") ? word : word.substr(0, 2);  // -n2 is -n with the value 2
    if (const auto own_hint = hint_own_name(*where, flag); !own_hint.empty())
      return user_error("{} has no flag {}{}\n`{} --help` lists them all", command, flag, own_hint, command);
    if (!key.empty()) return user_error("{} has no flag {}{}", command, word, key);
    return user_error("{} has no flag {}{}\n`{} --help` lists them all", command, word,
                      did_you_mean(word, flag_names(*where)), command);
  }
  const auto words = app.remaining(true);
  return user_error("{} takes no argument '{}'; `{} --help` lists its arguments", command,
                    words.empty() ? "" : words.front(), command);
}

/// Words the rule of a CLI11 range. CLI11 prints whole-number bounds without a decimal point, and the lower bound of
/// PositiveNumber as zero.
std::string range_rule(const std::string& value, const std::string& low, const std::string& high) {
  if (std::stod(high) > 1e18) return "must be above 0";
  const bool is_whole = low.find('.') == std::string::npos;
  const bool is_one = std::regex_match(value, std::regex(is_whole ? "[-+]?\\d+" : "[-+.eE\\d]+"));
  const char* const kind = is_whole ? "a whole number " : "a number ";
  return fmt::format("must be {}in {:.10g}..{:.10g}", is_one ? "" : kind, std::stod(low), std::stod(high));
}

/// Rewrites CLI11's message about a value in the form of our other messages.
std::string reword_error(const std::string& error) {
  std::smatch part;
  if (std::regex_match(error, part, std::regex("(-\\S+): Value (.*) not in range (\\S+) to (\\S+)")))
    return fmt::format("{} = {}: {}", part[1].str(), part[2].str(),
                       range_rule(part[2].str(), part[3].str(), part[4].str()));
  if (std::regex_match(error, part, std::regex("(\\S+): (.*) not in \\{(.*)\\}"))) {
    std::vector<std::string> words;
    std::istringstream list(part[3].str());
    for (std::string word; std::getline(list, word, ',');) words.push_back(word);
    return fmt::format("{} = {}: must be one of {}{}", part[1].str(), part[2].str(), fmt::join(words, ", "),
                       did_you_mean(part[2].str(), words));
  }
  constexpr std::pair<const char*, const char*> kRewordings[] = {
      {"(-\\S+): 1 required \\S+ missing", "$1: its value is missing; write it after the flag"},
      {"Could not convert: (-\\S+) = (.*)", "$1 = $2: must be a number"},
      {"(-\\S+) excludes (-\\S+)", "$1 and $2 cannot be combined; leave one out"},
      {"(-\\S+) requires (-\\S+)", "$1 belongs to $2; add $2"},
      {"(\\S+) is required", "$1: missing; give it"},
      {"(\\S+): At Most 1 required but received (\\d+)", "$1: given $2 times; give it once"}};
  for (const auto& [pattern, rewording] : kRewordings)
    if (const std::regex known(pattern); std::regex_match(error, known))
      return std::regex_replace(error, known, rewording);
  return error;
}

/// Returns CLI11's help; for a terminal, wraps long lines and keeps descriptions in their column.
std::string wrap_help(const std::string& text) {
  const Terminal terminal = describe_terminal(STDOUT_FILENO);
  if (!terminal.interactive) return text;
  std::istringstream in(text);
  std::string wrapped_text;
  for (std::string line; std::getline(in, line);) {
    const size_t begin = std::min(line.find_first_not_of(' '), line.size());
    // The line is a flag or subcommand, at least two blanks, and its description.
    const size_t gap = line.find("  ", begin);
    const size_t column = gap == line.npos ? begin : line.find_first_not_of(' ', gap);
    const bool leaves_room = column != line.npos && static_cast<int>(column) < terminal.columns / 2;
    const std::string indent(leaves_room ? column : begin, ' ');
    for (const std::string& part : wrapped(line, terminal.columns, indent)) wrapped_text += part + '\n';
  }
  return wrapped_text;
}

}  // namespace

int parse_and_run(CLI::App& app, int argc, char** argv) {
  if (argc == 1) throw user_error("a subcommand is missing\n\n{}", app.help());
  check_subcommand(app, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(wrap_help(app.help()).c_str(), stdout);
    return 0;
  } catch (const CLI::ExtrasError&) {
    throw unknown_word(app, argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
    const auto [where, command] = chosen_command(app);
    if (!where->get_allow_extras() && !app.remaining(true).empty())
      throw unknown_word(app, argc, argv);  // it may be the misspelled required flag
    throw user_error("{}\n`{} --help` says more", reword_error(e.what()), command);
  }
  return 0;
}

}  // namespace roll
