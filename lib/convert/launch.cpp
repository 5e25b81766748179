#include "convert/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include "base/error.h"
#include "config/yaml.h"

namespace roll {

namespace {

using ArgumentWords = std::vector<ArgumentWord>;

constexpr int kMaxReadings = 8;

bool is_among(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

bool is_python(const std::string& word) {
  const std::string name = file_name(word);
  return name.starts_with("python") && name.find_first_not_of("0123456789.", 6) == name.npos;
}

bool is_launcher(const std::string& word) {
  return is_among(file_name(word), {"torchrun", "deepspeed", "accelerate"});
}

/// Returns true for modules that launch another module or file, like the commands of the same names.
bool is_launcher_module(const std::string& module) {
  return is_among(module, {"torch.distributed.run", "torch.distributed.launch", "torch.distributed.torchrun",
                           "accelerate.commands.launch", "deepspeed.launcher.runner"});
}

/// Finds the program in a command. Words after it are its arguments; words before it are flags of its launcher.
std::optional<ForeignLaunch> find_program_launch(const ArgumentWords& words) {
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i].text;
    ForeignLaunch launch;
    if (file_name(word) == "trl" && i + 1 < words.size() && !words[i + 1].text.starts_with("-")) {
      launch.program = "trl " + words[i + 1].text;
      launch.keys = read_argument_keys(ArgumentWords(words.begin() + static_cast<ptrdiff_t>(i) + 2, words.end()));
      return launch;
    }
    // An unresolved word may start Python: `"${LAUNCH[@]}" -m verl.trainer.main_ppo`.
    const bool may_start_python = !words[i].unknown.empty() && i + 1 < words.size() && words[i + 1].text == "-m";
    if (!is_python(word) && !is_launcher(word) && !may_start_python) continue;
    for (size_t j = i + 1; j < words.size(); ++j) {
      const bool is_module = is_among(words[j].text, {"-m", "--module"}) && j + 1 < words.size();
      if (is_module && is_launcher_module(words[j + 1].text)) {
        ++j;
        continue;
      }
      if (!is_module && !words[j].text.ends_with(".py")) continue;
      const auto begin = words.begin() + static_cast<ptrdiff_t>(j) + (is_module ? 2 : 1);
      launch.program = words[is_module ? j + 1 : j].text;
      launch.launcher = read_argument_keys(
          ArgumentWords(words.begin() + static_cast<ptrdiff_t>(i) + 1, words.begin() + static_cast<ptrdiff_t>(j)));
      launch.keys = read_argument_keys(ArgumentWords(begin, words.end()));
      return launch;
    }
    return std::nullopt;
  }
  return std::nullopt;
}

std::string reason(const shell::Interpreter& shell, const shell::Unknown& unknown) {
  return fmt::format("{} ({})", unknown.text, shell.place_text(unknown.place));
}

/// Unset variables become ${oc.env:NAME}, which is read from the environment when roll loads the configuration.
ArgumentWord resolve_word(const shell::Interpreter& shell, const shell::Field& field) {
  ArgumentWord word{"", shell.place_text(field.place), ""};
  word.text = shell.unknowns().filled(field.text, [&](const shell::Unknown& unknown) {
    if (unknown.kind == shell::Unknown::Kind::kVariable) return "${oc.env:" + unknown.text + "}";
    if (unknown.kind != shell::Unknown::Kind::kBlank && word.unknown.empty()) word.unknown = reason(shell, unknown);
    return std::string();
  });
  return word;
}

/// An unset `$EXTRA` expands to no word at all.
bool expands_to_nothing(const shell::Interpreter& shell, const shell::Field& field) {
  const auto known = shell.unknowns().known(field.text);
  return shell::has_unknown(field.text) && known && known->empty();
}

ForeignScript run_script(shell::Interpreter& shell, std::string_view text, const std::string& origin, int first_line) {
  shell.run(text, origin, first_line);
  ForeignScript script{{}, shell.notes(), shell.exit_place()};
  for (const shell::Call& call : shell.calls()) {
    const std::string place = shell.place_text(call.words[0].place);
    ArgumentWords words;
    for (size_t i = 0; i < call.words.size(); ++i) {
      const bool is_value = i > 0 && call.words[i - 1].text.starts_with("--");
      if (is_value || !expands_to_nothing(shell, call.words[i])) words.push_back(resolve_word(shell, call.words[i]));
    }
    const bool is_argument = !words.empty() && words[0].text.find('=') != std::string::npos;
    if (is_argument && !read_argument_keys({words[0]}).empty())
      script.notes.push_back(
          fmt::format("{}: {} is read as a separate command, so the trainer does not get it: a line above it lacks its "
                      "final backslash, or is a comment",
                      place, words[0].text));
    if (auto launch = find_program_launch(words); launch && !launch->keys.empty()) {
      launch->place = place;
      launch->condition = call.condition;
      script.launches.push_back(std::move(*launch));
    }
  }
  return script;
}

}  // namespace

ForeignScript read_script(std::string_view text, const std::string& origin, const shell::Reading& reading) {
  check_text(text, origin);
  shell::Interpreter shell(reading);
  ForeignScript script = run_script(shell, text, origin, 1);
  // If the script exits because arguments or variables are missing, read it again as if they were given.
  shell::Reading assumed = reading;
  std::set<std::string> missing = shell.missing();
  for (int i = 0; i < kMaxReadings && script.launches.empty() && !script.ended.empty(); ++i) {
    const size_t num_given = assumed.assumed_set.size();
    assumed.assumed_set.insert(missing.begin(), missing.end());
    if (assumed.has_more_arguments && assumed.assumed_set.size() == num_given) break;
    assumed.has_more_arguments = true;
    shell::Interpreter reread(assumed);
    ForeignScript next_reading = run_script(reread, text, origin, 1);
    missing = reread.missing();
    if (next_reading.launches.empty() && next_reading.ended == script.ended) continue;
    next_reading.notes.push_back(
        fmt::format("{}: the script exits here because variables or arguments are missing, so they are assumed to be "
                    "set; give variables as NAME=VALUE after the file, the first argument as 1=VALUE",
                    script.ended));
    script = std::move(next_reading);
  }
  return script;
}

void BlockReader::add(std::string_view block, int line) {
  constexpr size_t kMostWork = 4 * shell::Interpreter::kMostWork;
  shell::Interpreter shell(reading_);
  try {
    ForeignScript script = run_script(shell, block, origin_, line);
    std::ranges::move(script.launches, std::back_inserter(script_.launches));
    std::ranges::move(script.notes, std::back_inserter(script_.notes));
  } catch (const UserError&) {
    // Not shell: a sentence, program output or another language.
  }
  work_ += shell.work();
  if (work_ > kMostWork)
    throw user_error(
        "{}:{}: the commands up to this line take too long to read; give a script with the commands of one training",
        origin_, line);
}

ForeignScript read_markdown(std::string_view text, const std::string& origin, const shell::Reading& reading) {
  check_text(text, origin);
  BlockReader blocks(origin, reading);
  std::string block;
  bool is_inside = false, is_shell = false;
  int line = 0, begin = 0;
  for (size_t at = 0; at < text.size(); ++line) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view full_line = text.substr(at, end - at);
    const std::string_view stripped_line =
        full_line.substr(std::min(full_line.find_first_not_of(" \t>"), full_line.size()));
    at = end + 1;
    if (!stripped_line.starts_with("```")) {
      if (is_inside && is_shell)
        block.append(stripped_line.starts_with("$ ") ? stripped_line.substr(2) : full_line).append("\n");
      continue;
    }
    const std::string_view name = stripped_line.substr(3);
    if (!is_inside) {
      is_shell = name.empty() || is_among(name, {"bash", "sh", "shell", "console", "zsh", "shell-session"});
      begin = line + 2;
    } else if (is_shell) {
      blocks.add(block, begin);
    }
    block.clear();
    is_inside = !is_inside;
  }
  return blocks.take();
}

}  // namespace roll
