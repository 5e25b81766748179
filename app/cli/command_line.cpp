#include "app/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "config/scalar.h"

namespace roll {

namespace {

/// Returns a flag's choices: CLI11's type is "TEXT:{auto,cpu,cuda}"; flags of field_flags.h end their help in "[a |
/// b]".
std::vector<std::string> find_choices(const std::string& type, const std::string& doc) {
  const size_t open = type.find(":{");
  if (open != std::string::npos) return CLI::detail::split(type.substr(open + 2, type.find('}', open) - open - 2), ',');
  const size_t bracket = doc.rfind('[');
  if (bracket == std::string::npos || !doc.ends_with(']')) return {};
  std::vector<std::string> words = CLI::detail::split(doc.substr(bracket + 1, doc.size() - bracket - 2), '|');
  for (std::string& word : words) CLI::detail::trim(word);
  return words.size() > 1 ? words : std::vector<std::string>{};
}

ArgumentInfo describe_argument(const CLI::Option& option) {
  ArgumentInfo info{.names = {}, .doc = option.get_description(), .value = option.get_default_str()};
  for (const std::string& name : option.get_snames()) info.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) info.names.push_back("--" + name);
  if (info.names.empty()) info.names.push_back(option.get_single_name());
  if (option.get_items_expected_max() > 0) {
    const std::string type = option.get_type_name();
    info.type = type.substr(0, type.find(':'));
    info.choices = find_choices(type, info.doc);
  }
  info.is_required = option.get_required();
  return info;
}

CommandInfo describe_command(const CLI::App& app) {
  CommandInfo command{.name = app.get_name(), .doc = app.get_description(), .footer = app.get_footer()};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    (option->get_positional() ? command.positionals : command.flags).push_back(describe_argument(*option));
  }
  return command;
}

}  // namespace

bool ArgumentInfo::may_be_file() const {
  const bool has_range = doc.ends_with(']');  // field_flags.h appends it
  return type == "TEXT" && choices.empty() && !has_range && !parse_number(value);
}

bool CommandInfo::takes_overrides() const {
  return std::ranges::any_of(positionals,
                             [](const ArgumentInfo& positional) { return positional.names.front() == "overrides"; });
}

std::vector<CommandInfo> list_commands(const CLI::App& app) {
  std::vector<CommandInfo> commands;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    CommandInfo command = describe_command(*sub);
    for (CommandInfo& inner : list_commands(*sub)) {
      command.subcommands.push_back(inner.name);
      inner.name = command.name + " " + inner.name;
      commands.push_back(std::move(inner));
    }
    commands.push_back(std::move(command));
  }
  std::ranges::sort(commands, {}, &CommandInfo::name);
  return commands;
}

}  // namespace roll
