// roll man: prints the manual page in troff, from the declarations of flags and keys.
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "app/cli/command_line.h"
#include "app/commands.h"
#include "app/version.h"
#include "settings/key_lists.h"

namespace roll {

namespace {

/// Escapes text for troff: backslashes, hyphens (so that they can be copied), and dots or quotes at line starts.
std::string escape_troff(const std::string& text) {
  std::string troff;
  bool at_line_start = true;
  for (const char c : text) {
    if (at_line_start && (c == '.' || c == '\'')) troff += "\\&";
    troff += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
    at_line_start = c == '\n';
  }
  return troff;
}

std::string bold(const std::string& text) {
  return "\\fB" + escape_troff(text) + "\\fR";
}

std::string flag_entry(const ArgumentInfo& flag) {
  std::vector<std::string> names;
  for (const std::string& name : flag.names) names.push_back(bold(name));
  const std::string values = flag.choices.empty() ? flag.type : fmt::format("{}", fmt::join(flag.choices, "|"));
  std::string entry = fmt::format(".TP\n{}{}\n{}", fmt::join(names, ", "),
                                  values.empty() ? "" : " \\fI" + escape_troff(values) + "\\fR",
                                  escape_troff(flag.doc.empty() ? "see above" : flag.doc));
  if (flag.is_required) entry += " (required)";
  if (!flag.value.empty()) entry += escape_troff(" (default: " + flag.value + ")");
  return entry + "\n";
}

/// Returns a footer with its line breaks kept.
std::string verbatim(const std::string& text) {
  return text.empty() ? "" : ".PP\n.nf\n" + escape_troff(text) + (text.ends_with('\n') ? "" : "\n") + ".fi\n";
}

std::string command_section(const CommandInfo& command) {
  std::string synopsis = bold("roll " + command.name) + " [flags]";
  for (const ArgumentInfo& argument : command.positionals)
    synopsis += " \\fI" + escape_troff(argument.names.front()) + "\\fR";
  std::string text = ".SS " + command.name + "\n" + synopsis + "\n.PP\n" + escape_troff(command.doc) + ".\n";
  for (const ArgumentInfo& argument : command.positionals) text += flag_entry(argument);
  for (const ArgumentInfo& argument : command.flags) text += flag_entry(argument);
  return text + verbatim(command.footer);
}

std::string key_entry(const SharedKey& key) {
  const std::string value = key.entry.kind == KeyEntry::Kind::kKey ? ": " + key.entry.value : "";
  std::string text = ".TP\n" + bold(key.entry.path) + escape_troff(value) + "\n" + escape_troff(key.entry.meaning);
  if (!key.entry.allowed.empty()) text += escape_troff(" [" + key.entry.allowed + "]");
  if (!key.roles.empty()) text += escape_troff(fmt::format(" ({})", fmt::join(key.roles, ", ")));
  return text + "\n";
}

std::string keys_section(const std::string& title, const std::vector<SharedKey>& keys) {
  std::string text = ".SS " + title + "\n";
  for (const SharedKey& key : keys)
    if (key.entry.kind == KeyEntry::Kind::kKey || key.entry.kind == KeyEntry::Kind::kGroup) text += key_entry(key);
  return text;
}

constexpr const char* kHead = R"(.ad l
.SH NAME
roll \- reinforcement learning from verifiable rewards for language models
.SH SYNOPSIS
\fBroll\fR \fIsubcommand\fR [flags] [key=value ...]
.SH DESCRIPTION
Samples responses of a language model to prompts, scores them by rules, programs or judges, and trains the model on the scores by
PPO, GRPO and the like. A YAML file configures a run; key=value pairs after the flags override its values.
.PP
\fBroll quickstart\fR shows a whole run on a tiny model.
)";
constexpr const char* kTail = R"(.SH EXIT STATUS
0: success. 1: a failure of the machine or of another process. 2: wrong input; the message says where. 70: a bug in roll.
75: saved and ended at the time limit; start again with \-\-resume.
.SH ENVIRONMENT
.TP
\fBROLL_TORCH\fR
folder of the LibTorch to use, which contains lib/libtorch_cpu.so; default: that of python3 (installed packages only)
.TP
\fBHF_HOME\fR
Hugging Face's folder, in whose cache models with a Hub name are looked up
.TP
\fBOMP_NUM_THREADS\fR
compute threads of a process; default: one per core
)";

std::string manual(const std::vector<CommandInfo>& commands) {
  std::string text = fmt::format(".TH ROLL 1 \"\" \"roll {}\" \"User Commands\"\n", version());
  text += std::string(kHead) + ".SH SUBCOMMANDS\n";
  for (const CommandInfo& command : commands) text += command_section(command);
  text += ".SH KEYS\nName, default, meaning, allowed values, and the roles that have the key.\n";
  for (const auto& [command, keys] : keys_by_command()) text += keys_section("roll " + command, keys);
  return text + kTail;
}

}  // namespace

void add_man(CLI::App& app) {
  auto* sub = app.add_subcommand("man", "the manual page: roll man | man -l -");
  sub->callback([&app] { std::fputs(manual(list_commands(app)).c_str(), stdout); });
}

}  // namespace roll
