// roll completion: prints a bash or zsh script that completes subcommands, flags, their values, files and key=value
// pairs.
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>

#include "app/cli/command_line.h"
#include "app/commands.h"
#include "settings/key_lists.h"
#include "track/metric_reference.h"

namespace roll {

namespace {

/// Returns a line like "adv_estimator=gae|grpo" for each full key path; values follow "=" if the key has few words.
std::string key_lines(const std::vector<SharedKey>& keys) {
  std::string lines;
  for (const SharedKey& key : keys) {
    if (key.entry.kind != KeyEntry::Kind::kKey) continue;
    std::string values = key.entry.type.starts_with("true or false") ? "true|false" : "";
    if (key.entry.type.starts_with("word")) values = key.entry.allowed;
    std::erase(values, ' ');
    for (const std::string& path : key.paths()) lines += path + "=" + values + "\n";
  }
  return lines;
}

bool is_nested(const CommandInfo& command) {
  return command.name.find(' ') != std::string::npos;
}

/// Returns the command as one word for the scripts: "data/check".
std::string command_word(const CommandInfo& command) {
  std::string word = command.name;
  std::ranges::replace(word, ' ', '/');
  return word;
}

/// Returns a shell case branch for each flag with a value: kind `file`, or `words` with its choices (maybe none).
std::string value_branches(const std::vector<CommandInfo>& commands) {
  std::string branches;
  for (const CommandInfo& command : commands)
    for (const ArgumentInfo& flag : command.flags) {
      if (flag.type.empty()) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : flag.names) patterns.push_back("'" + command_word(command) + " " + name + "'");
      const std::string values =
          flag.may_be_file() ? "kind=file" : fmt::format("kind=words values='{}'", fmt::join(flag.choices, " "));
      branches += fmt::format("    {}) {} ;;\n", fmt::join(patterns, " | "), values);
    }
  return branches;
}

std::string command_names(const std::vector<CommandInfo>& commands) {
  std::vector<std::string> names;
  for (const CommandInfo& command : commands)
    if (!is_nested(command)) names.push_back(command.name);
  return fmt::format("{}", fmt::join(names, " "));
}

std::string nested_names(const std::vector<CommandInfo>& commands) {
  std::string names = "_roll_nested=' ";
  for (const CommandInfo& command : commands)
    if (is_nested(command)) names += command_word(command) + " ";
  return names + "'\n";
}

/// Returns all arguments of `roll explain`, separated by blanks.
std::string explain_words() {
  std::vector<std::string> words = metric_names();
  for (const SharedKey& key : all_keys()) words.push_back(key.entry.path);
  for (std::string& word : words)
    if (word.ends_with("/*")) word.resize(word.size() - 2);  // "score" works too
  std::erase_if(words, [](const std::string& word) { return word.find_first_of("<*'") != std::string::npos; });
  return fmt::format("{}", fmt::join(words, " "));
}

/// Returns shell case branches for the positional arguments of subcommands: keys, fixed words, or else a file.
std::string key_branches(const std::vector<CommandInfo>& commands) {
  const std::vector<CommandKeys> lists = keys_by_command();
  const auto keys_variable = [](const CommandKeys& list) { return "$_roll_" + list.command + "_keys"; };
  std::string branches;
  for (const CommandInfo& command : commands) {
    if (!command.subcommands.empty())
      branches += fmt::format("    {}) behind='{}' ;;\n", command.name, fmt::join(command.subcommands, " "));
    if (!command.positionals.empty() && !command.positionals.front().choices.empty())
      branches += fmt::format("    {}) behind='{}' ;;\n", command_word(command),
                              fmt::join(command.positionals.front().choices, " "));
    if (command.name == "explain") branches += "    explain) behind=$_roll_explained ;;\n";
    if (!command.takes_overrides()) continue;
    std::string keys;  // keys of the command, or of all commands
    for (const CommandKeys& list : lists)
      if (command.name == list.command || command.name == "validate-config") keys += keys_variable(list);
    if (keys.empty()) keys = keys_variable(lists.front());
    branches += fmt::format("    {}) keys={} ;;\n", command_word(command), keys);
  }
  return branches;
}

std::string key_variables() {
  std::string variables = fmt::format("_roll_explained='{}'\n", explain_words());
  for (const auto& [command, keys] : keys_by_command())
    variables += fmt::format("_roll_{}_keys='{}'\n", command, key_lines(keys));
  return variables;
}

constexpr const char* kBashFunctions = R"(
# Keys up to their next dot, or after "=" the values. $1: the word so far, $2: all keys.
_roll_override() {
  local word=$1 line key value name= rest
  local -A seen=()
  if [[ $word == rewards.*.* ]]; then name=${word#rewards.} name=${name%%.*}; fi
  while IFS= read -r line; do
    [[ -z $name ]] || line=${line/'<name>'/$name}
    key=${line%%=*}
    if [[ $word == "$key="* ]]; then
      line=${line#*=}
      for value in ${line//|/ }; do [[ $key=$value != "$word"* ]] || seen[$key=$value]=1; done
    elif [[ $key == "$word"* && $key != *'<'* ]]; then
      rest=${key#"$word"}
      if [[ $rest == *.* ]]; then seen[$word${rest%%.*}.]=1; else seen[$key=]=1; fi
    fi
  done <<< "$2"
  COMPREPLY=("${!seen[@]}")
  [[ $word == *=* ]] || compopt -o nospace 2> /dev/null
}

_roll() {
  local line=${COMP_LINE:0:COMP_POINT} words word command= flag= value kind= values= flags= keys= behind= i
  read -ra words <<< "$line"
  [[ $line != *[[:space:]] ]] || words+=("")
  word=${words[-1]} COMPREPLY=()
  for (( i = 1; i < ${#words[@]} - 1; ++i )); do
    [[ ${words[i]} == -* ]] || { command=${words[i]}; break; }
  done
  if (( i + 2 < ${#words[@]} )) && [[ $_roll_nested == *" $command/${words[i + 1]} "* ]]; then
    command+=/${words[i + 1]}
  fi
  if [[ -z $command ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$_roll_commands" -- "$word")
    return
  fi
  if [[ $word == --*=* ]]; then
    flag=${word%%=*} value=${word#*=}
  elif [[ ${words[-2]} == -* ]]; then
    flag=${words[-2]} value=$word
  fi
  _roll_kind "$command" "$flag"
  if [[ -z $kind && $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$word")
  elif [[ $kind == words ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$value")
  elif [[ -z $kind && -n $behind ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$behind" -- "$word")
  elif [[ -z $kind && -n $keys ]]; then
    _roll_override "$word" "$keys"
    # The shell takes what follows "=" for a word of its own.
    [[ $COMP_WORDBREAKS != *=* || $word != *=* ]] || COMPREPLY=("${COMPREPLY[@]#"${word%"${word##*=}"}"}")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "${value-$word}")
    compopt -o filenames 2> /dev/null
  fi
}
complete -F _roll roll
)";

std::string flag_branches(const std::vector<CommandInfo>& commands) {
  std::string branches;
  for (const CommandInfo& command : commands) {
    std::vector<std::string> names;
    for (const ArgumentInfo& flag : command.flags) names.insert(names.end(), flag.names.begin(), flag.names.end());
    branches += fmt::format("    {}) flags='{}' ;;\n", command_word(command), fmt::join(names, " "));
  }
  return branches;
}

std::string bash_script(const std::vector<CommandInfo>& commands) {
  return "# Completion of roll for bash; `roll completion bash` writes it.\n" + key_variables() +
         fmt::format("_roll_commands='{} --help --version'\n", command_names(commands)) + nested_names(commands) +
         "\n# What a flag's value is, and what a subcommand takes.\n_roll_kind() {\n  case \"$1 $2\" in\n" +
         value_branches(commands) + "  esac\n  case $1 in\n" + flag_branches(commands) + "  esac\n  case $1 in\n" +
         key_branches(commands) + "  esac\n}\n" + kBashFunctions;
}

constexpr const char* kZshFunctions = R"(
# Keys up to their next dot, or after "=" the values.
_roll_override() {
  local word=$PREFIX line key value name= rest
  local -aU found
  if [[ $word == rewards.*.* ]]; then name=${${word#rewards.}%%.*}; fi
  for line in ${(f)1}; do
    [[ -z $name ]] || line=${line/\<name\>/$name}
    key=${line%%=*}
    if [[ $word == "$key="* ]]; then
      for value in ${(s:|:)line#*=}; do found+=("$key=$value"); done
    elif [[ $key == "$word"* && $key != *'<'* ]]; then
      rest=${key#"$word"}
      if [[ $rest == *.* ]]; then found+=("$word${rest%%.*}."); else found+=("$key="); fi
    fi
  done
  if [[ $word == *=* ]]; then compadd -Q -- $found; else compadd -Q -S '' -- $found; fi
}

_roll() {
  local command=$words[2] flag=$words[CURRENT-1] kind= values= keys= behind=
  local -a flags
  if (( CURRENT == 2 )); then
    _describe -t commands subcommand _roll_commands
    return
  fi
  if (( CURRENT > 3 )) && [[ $_roll_nested == *" $command/$words[3] "* ]]; then command+=/$words[3]; fi
  if [[ $PREFIX == --*=* ]]; then flag=${PREFIX%%=*}; fi
  _roll_kind $command $flag
  if [[ -n $kind && $PREFIX == --*=* ]]; then compset -P '*='; fi
  if [[ -z $kind && $PREFIX == -* ]]; then
    _describe -o flag flags
  elif [[ $kind == words ]]; then
    compadd -- ${=values}
  elif [[ -z $kind && -n $behind ]]; then
    compadd -- ${=behind}
  elif [[ -z $kind && -n $keys ]]; then
    _roll_override $keys
  else
    _files
  fi
}
if [[ $funcstack[1] == _roll ]]; then _roll "$@"; else compdef _roll roll; fi
)";

/// Returns 'name:description', quoted for zsh's _describe.
std::string zsh_description(const std::string& name, const std::string& doc) {
  std::string text = name + ":";
  for (const char c : doc) text += c == '\'' ? std::string("'\\''") : c == '\\' ? "\\\\" : std::string(1, c);
  return "'" + text + "'";
}

std::string zsh_flag_branches(const std::vector<CommandInfo>& commands) {
  std::string branches;
  for (const CommandInfo& command : commands) {
    branches += fmt::format("    {}) flags=(\n", command_word(command));
    for (const ArgumentInfo& flag : command.flags)
      for (const std::string& name : flag.names) branches += "      " + zsh_description(name, flag.doc) + "\n";
    branches += "    ) ;;\n";
  }
  return branches;
}

std::string zsh_script(const std::vector<CommandInfo>& commands) {
  std::string script = "#compdef roll\n# Completion of roll for zsh; `roll completion zsh` writes it.\n" +
                       key_variables() + nested_names(commands) + "_roll_commands=(\n";
  for (const CommandInfo& command : commands)
    if (!is_nested(command)) script += "  " + zsh_description(command.name, command.doc) + "\n";
  return script + ")\n\n# What a flag's value is, and what a subcommand takes.\n_roll_kind() {\n  case \"$1 $2\" in\n" +
         value_branches(commands) + "  esac\n  case $1 in\n" + zsh_flag_branches(commands) + "  esac\n  case $1 in\n" +
         key_branches(commands) + "  esac\n}\n" + kZshFunctions;
}

}  // namespace

void add_completion(CLI::App& app) {
  auto* sub =
      app.add_subcommand("completion", "a script that completes roll's command line: source <(roll completion bash)");
  auto shell = std::make_shared<std::string>();
  sub->add_option("shell", *shell, "bash or zsh")->required()->check(CLI::IsMember({"bash", "zsh"}));
  sub->callback([&app, shell] {
    const std::vector<CommandInfo> commands = list_commands(app);
    std::fputs((*shell == "bash" ? bash_script(commands) : zsh_script(commands)).c_str(), stdout);
  });
}

}  // namespace roll
