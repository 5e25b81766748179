#include "app/cli/parse.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <regex>
#include <sstream>

#include "app/cli/config_flags.h"
#include "app/cli/help.h"
#include "base/error.h"
#include "base/nearest.h"

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

/// The words up to the last subcommand, of which CLI11 would say only that a subcommand is required.
void check_subcommand(const CLI::App& app, int argc, char** argv) {
  const CLI::App* at = &app;
  std::string command = "roll";
  for (int i = 1; i < argc; ++i) {
    const auto names = subcommand_names(*at);
    const auto flags = flag_names(*at);
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
    at = at->get_subcommand(word);
    command += " " + word;
  }
}

/// What stands behind a word of the command line, or "".
std::string word_behind(const std::string& word, int argc, char** argv) {
  char** const found = std::find(argv, argv + argc, word);
  return found + 1 < argv + argc ? found[1] : "";
}

/// The innermost subcommand that was chosen, and its words.
std::pair<const CLI::App*, std::string> chosen_command(const CLI::App& app) {
  std::pair<const CLI::App*, std::string> at{&app, "roll"};
  for (auto chosen = app.get_subcommands(); !chosen.empty(); chosen = at.first->get_subcommands())
    at = {chosen.front(), at.second + " " + chosen.front()->get_name()};
  return at;
}

/// The first word that nobody asked for.
UserError unknown_word(const CLI::App& app, int argc, char** argv) {
  const auto [where, command] = chosen_command(app);
  for (std::string word : app.remaining(true)) {
    if (!word.starts_with('-') || word == "--") continue;
    const std::string key = override_for_flag(*where, word, word_behind(word, argc, argv));
    word = word.substr(0, word.find('='));
    if (!key.empty()) return user_error("{} has no flag {}{}", command, word, key);
    return user_error("{} has no flag {}{}\n`{} --help` lists them all", command, word,
                      did_you_mean(word, flag_names(*where)), command);
  }
  const auto words = app.remaining(true);
  return user_error("{} takes no argument '{}'; `{} --help` says what it takes", command,
                    words.empty() ? "" : words.front(), command);
}

/// The rule of CLI11's range, whose bounds it prints without a point where they are whole numbers. `low` may be
/// PositiveNumber's least double, which it prints as zero.
std::string range_rule(const std::string& value, const std::string& low, const std::string& high) {
  if (std::stod(high) > 1e18) return "must be above 0";
  const bool is_whole = low.find('.') == std::string::npos;
  const bool is_one = std::regex_match(value, std::regex(is_whole ? "[-+]?\\d+" : "[-+.eE\\d]+"));
  const char* const kind = is_whole ? "a whole number " : "a number ";
  return fmt::format("must be {}in {:.10g}..{:.10g}", is_one ? "" : kind, std::stod(low), std::stod(high));
}

/// What CLI11 says of a value, in the words of all other messages.
std::string in_our_words(const std::string& error) {
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
  if (std::regex_match(error, part, std::regex("(-\\S+): 1 required \\S+ missing")))
    return part[1].str() + ": its value is missing; write it behind the flag";
  if (std::regex_match(error, part, std::regex("Could not convert: (-\\S+) = (.*)")))
    return fmt::format("{} = {}: must be a number", part[1].str(), part[2].str());
  if (std::regex_match(error, part, std::regex("(-\\S+) excludes (-\\S+)")))
    return fmt::format("{} and {} do not go together; leave one out", part[1].str(), part[2].str());
  if (std::regex_match(error, part, std::regex("(-\\S+) requires (-\\S+)")))
    return fmt::format("{0} belongs to {1}; add {1}", part[1].str(), part[2].str());
  if (std::regex_match(error, part, std::regex("(\\S+) is required"))) return part[1].str() + ": missing; give it";
  if (std::regex_match(error, part, std::regex("(\\S+): At Most 1 required but received (\\d+)")))
    return fmt::format("{}: given {} times; give it once", part[1].str(), part[2].str());
  return error;
}

}  // namespace

int parse_and_run(CLI::App& app, int argc, char** argv) {
  if (argc == 1) throw user_error("say what to do\n\n{}", app.help());
  check_subcommand(app, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(fitted_help(app.help()).c_str(), stdout);
    return 0;
  } catch (const CLI::ExtrasError&) {
    throw unknown_word(app, argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
    const auto [where, command] = chosen_command(app);
    if (!where->get_allow_extras() && !app.remaining(true).empty())
      throw unknown_word(app, argc, argv);  // perhaps the misspelt flag that seems to be missing
    throw user_error("{}\n`{} --help` says more", in_our_words(e.what()), command);
  }
  return 0;
}

}  // namespace roll
