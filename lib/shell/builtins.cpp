// Shell builtins, and recording of all other commands.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>

#include "base/error.h"
#include "shell/interpreter.h"

namespace roll::shell {

namespace {

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

std::string joined(const std::vector<Field>& fields, size_t from) {
  std::string text;
  for (size_t i = from; i < fields.size(); ++i) text += (i > from ? " " : "") + fields[i].text;
  return text;
}

std::filesystem::path without_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

std::string parent_folder(const std::string& path) {
  const std::string parent = without_slashes(path).parent_path();
  return parent.empty() ? "." : parent;
}

std::string last_component(const std::string& path) {
  const std::string last = without_slashes(path).filename();
  return last.empty() ? path.substr(0, 1) : last;
}

/// Removes "." and ".." from an absolute path.
std::string plain_path(const std::string& path) {
  return path.starts_with('/') ? without_slashes(without_slashes(path).lexically_normal()).string() : path;
}

/// Returns printf's output for a format with only %s, %d and \n that consumes each word once; else nullopt.
std::optional<std::string> formatted(const std::string& format, std::span<const Field> words) {
  std::string text;
  size_t next = 0;
  for (size_t i = 0; i < format.size(); ++i) {
    const bool is_sign = format[i] == '%' || format[i] == '\\';
    const std::string sign = format.substr(i, is_sign ? 2 : 1);
    i += is_sign ? 1 : 0;
    if ((is_sign && sign != "\\n" && sign != "%s" && sign != "%d") || (sign[0] == '%' && next == words.size()))
      return std::nullopt;
    text += !is_sign ? sign : sign == "\\n" ? "\n" : words[next++].text;
  }
  return next == words.size() || text == format ? std::optional(text) : std::nullopt;
}

/// Detects python3 -c 'import torch_npu', which fails on CPUs and NVIDIA GPUs, where roll runs.
bool looks_for_ascend(const std::vector<Field>& words) {
  return words.size() == 3 && last_component(words[0].text).starts_with("python") && words[1].text == "-c" &&
         words[2].text == "import torch_npu";
}

}  // namespace

Truth Interpreter::run_command(Command command) {
  Fields& words = command.words;
  // `$LAUNCHER python3 ...` runs python3 if LAUNCHER is unset.
  const auto expands_to_text = [&](const Field& word) { return word.text.empty() || unknowns_.known(word.text) != ""; };
  words.erase(words.begin(), std::ranges::find_if(words, expands_to_text));
  Variables earlier_values;
  for (const Cursor& assignment : command.assignments) {
    const std::string name = Cursor(assignment).take_name();
    earlier_values.try_emplace(name, copy_variable(name));
    at_cursor(assignment, [&] { read_assignment(); });
  }
  if (words.empty()) {
    output_.is_known = output_.is_known && command.redirects.empty();
    return Truth::kYes;
  }
  const auto function = state_.functions.find(words[0].text);
  const Truth truth = function == state_.functions.end() ? run_program(command) : call(function->second, words);
  restore(earlier_values);  // NAME=value before a command applies to that command only
  return truth;
}

Truth Interpreter::run_program(const Command& command) {
  const Fields& words = command.words;
  if (const auto truth = run_builtin(command)) return *truth;
  if (looks_for_ascend(words)) {
    notes_.push_back(fmt::format("{}: this check for torch_npu counts as failed, as on machines without Ascend NPUs",
                                 place_text(words[0].place)));
    return Truth::kNo;
  }
  output_.is_known = false;
  if (const auto truth = run_nested_shell(words)) return *truth;
  calls_.push_back({words, state_.doubt});
  const bool succeeds =
      is_one_of(words[0].text, {"mkdir", "touch", "rm", "cp", "mv", "ln", "chmod", "sleep", "tee", "cat"});
  return succeeds ? Truth::kYes : Truth::kUnknown;
}

Truth Interpreter::call(Cursor body, const Fields& words) {
  const Scoped arguments(state_.arguments, Arguments{Fields(words.begin() + 1, words.end())});
  const Scoped doubt(state_.doubt, state_.doubt);
  locals_.emplace_back();
  const Truth truth = at_cursor(std::move(body), [&] { return command(); });
  restore(locals_.back());
  locals_.pop_back();
  if (flow_ == Flow::kReturn) flow_ = Flow::kOn;
  return truth;
}

/// Reads a word after export, local etc.: its assignment is not split and may be an array.
void Interpreter::read_declared(const std::string& declaration) {
  const Cursor begin = cursor_;
  const bool assigns = cursor_.is_at_assignment();
  const std::string name = assigns ? Cursor(begin).take_name() : text_ahead(kEndsOfWords);
  const bool is_local = declaration != "export" && declaration != "readonly" && !locals_.empty();
  if (runs() && is_local && is_name(name)) locals_.back().try_emplace(name, copy_variable(name));
  if (assigns) return void(read_assignment());
  if (runs() && declaration == "local" && is_name(name)) set(name, "", begin.place());
  const auto not_live = live_if(false);
  read_value();
}

std::optional<Truth> Interpreter::run_builtin(const Command& command) {
  const Fields& words = command.words;
  const std::string& name = words[0].text;
  const Place place = words[0].place;
  // Output redirected to a file or to stderr is not captured.
  const bool is_redirected = std::ranges::any_of(command.redirects, [](const Redirect& redirect) {
    return redirect.op.find('>') != std::string::npos && !redirect.op.starts_with("2");
  });
  std::optional<Scoped<Output>> discarded_output;
  if (is_redirected) discarded_output.emplace(output_, Output{});
  if (is_one_of(name, {"true", ":", "trap", "ulimit", "wait", "umask", "shopt", "alias", "unalias", "hash", "jobs"}))
    return Truth::kYes;
  if (name == "false") return Truth::kNo;
  if (name == "test" || name == "[") return test(words);
  if (is_one_of(name, {"echo", "printf", "basename", "dirname", "pwd", "seq"})) return run_print(words);
  if (name == "read") return run_read(command);
  if (name == "source" || name == ".") return run_source(words);
  if (name == "cd" || name == "pushd") return run_cd(words);
  if (name == "eval") return run_text(joined(words, 1), place);
  if (name == "let") return truth_of_number(parse_number(joined(words, 1)));
  // Only the arguments set by `set --` matter here; options such as -e do not.
  if (const auto dashes = std::ranges::find(words, "--", &Field::text); name == "set" && dashes != words.end())
    state_.arguments = {Fields(dashes + 1, words.end())};
  if (name == "unset")
    for (size_t i = 1; i < words.size(); ++i) set(words[i].text, "", words[i].place);
  if (name == "shift") {
    const auto count = words.size() > 1 ? parse_number(words[1].text) : 1;
    const int64_t taken = std::max<int64_t>(0, count.value_or(1));
    Fields& values = state_.arguments.values;
    values.erase(values.begin(), values.begin() + std::min<int64_t>(taken, std::ssize(values)));
    state_.arguments.num_shifted += taken;
  }
  if (is_one_of(name, {"set", "unset", "shift"})) return Truth::kYes;
  static const std::map<std::string_view, Flow> kJumps{
      {"break", Flow::kBreak}, {"continue", Flow::kContinue}, {"return", Flow::kReturn}, {"exit", Flow::kExit}};
  if (const auto jump = kJumps.find(name); jump != kJumps.end()) {
    flow_ = jump->second;
    if (name == "exit") exit_place_ = place_text(place);
    return words.size() < 2 ? Truth::kUnknown : to_truth(words[1].text == "0");
  }
  if (!is_one_of(name, {"mapfile", "readarray", "getopts"})) return std::nullopt;
  if (const std::string& target = words.back().text; is_name(target))
    set(target, unknown_text(target + ", which `" + name + "` reads", place), place);
  return Truth::kUnknown;
}

Truth Interpreter::run_print(Fields words) {
  const bool sets_variable = words[0].text == "printf" && words.size() > 2 && words[1].text == "-v";
  const std::string target = sets_variable ? words[2].text : "";
  const Place place = words[0].place;
  if (sets_variable) words.erase(words.begin() + 1, words.begin() + 3);
  const auto text = printed(words);
  if (sets_variable)
    set(target, text ? *text : unknown_text(target + ", which `printf` makes", place), place);
  else if (!text)
    output_.is_known = false;
  else {
    spend(text->size() + output_.text.size() / 16);
    output_.text += *text;
  }
  return Truth::kYes;
}

/// Returns the output of a builtin; nullopt if unknown.
std::optional<std::string> Interpreter::printed(const Fields& words) {
  const std::string& name = words[0].text;
  const size_t from = words.size() > 1 && words[1].text == "--" ? 2 : 1;
  const size_t count = words.size() - from;
  if (name == "echo") {
    const bool has_options = words.size() > 1 && is_one_of(words[1].text, {"-n", "-e", "-ne", "-en"});
    const bool escapes = has_options && words[1].text != "-n";
    const std::string text = joined(words, has_options ? 2 : 1);
    return escapes && text.find('\\') != std::string::npos ? std::nullopt : std::optional(text + "\n");
  }
  if (name == "pwd") return folder(words[0].place) + "\n";
  if (name == "printf" && count > 0) return formatted(words[from].text, std::span(words).subspan(from + 1));
  if (name == "dirname" && count == 1) return parent_folder(words[from].text) + "\n";
  if (name == "basename" && (count == 1 || count == 2)) {
    std::string last = last_component(words[from].text);
    const std::string end = count == 2 ? words[from + 1].text : "";
    if (last.size() > end.size() && last.ends_with(end)) last.resize(last.size() - end.size());
    return last + "\n";
  }
  if (name != "seq" || (count != 1 && count != 2)) return std::nullopt;
  const auto first = count == 1 ? 1 : parse_number(words[1].text);
  const auto last = parse_number(words.back().text);
  if (!first || !last || *last - *first > 1000) return std::nullopt;
  std::string lines;
  for (int64_t i = *first; i <= *last; ++i) lines += fmt::format("{}\n", i);
  return lines;
}

/// `read` sets its last name to a here-document or one of its lines.
Truth Interpreter::run_read(const Command& command) {
  const Fields& words = command.words;
  const std::string& name = words.back().text;
  const auto input = std::ranges::find_if(command.redirects, [](const Redirect& redirect) { return redirect.is_text; });
  const auto count_words = [&](auto matches) { return std::count_if(words.begin() + 1, words.end(), matches); };
  const bool is_several = count_words([](const Field& word) { return is_name(word.text); }) > 1;
  if (!is_name(name) || is_several || input == command.redirects.end()) {
    const Place place = words[0].place;
    for (const Field& word : std::span(words).subspan(1))
      if (is_name(word.text)) set(word.text, unknown_text(word.text + ", which `read` sets", place), place);
    return Truth::kUnknown;
  }
  Place place;
  std::string text = at_cursor(input->target, [&] {
    place = cursor_.place();
    return input->op == "<<<" ? read_value() : input->expands ? quoted_text("") : std::string(cursor_.rest());
  });
  const auto begin = std::ranges::find_if_not(text, [](char c) { return c == ' ' || c == '\t' || c == '\n'; });
  if (input->op != "<<<") place.line += 1 + static_cast<int>(std::count(text.begin(), begin, '\n'));  // skipped lines
  text.erase(text.begin(), begin);
  text.resize(text.find_last_not_of(" \t\n") + 1);
  const bool is_whole = input->op == "<<<" || count_words([](const Field& word) { return word.text == "-d"; }) > 0;
  if (!is_whole) text.resize(std::min(text.find('\n'), text.size()));
  Builder value = builder(count_words([](const Field& word) {
                            return word.text.starts_with("-") && word.text.find('a') != std::string::npos;
                          }) > 0);
  value.place = place;
  value.append_value(text, place, /*in_quotes=*/false);
  value.end_word();
  set(name, value.fields);
  return Truth::kUnknown;
}

Truth Interpreter::run_source(const Fields& words) {
  if (words.size() < 2) return Truth::kNo;
  const auto known = unknowns_.known(words[1].text);
  const std::string shown =
      unknowns_.filled(words[1].text, [](const Unknown& unknown) { return "${" + unknown.text + "}"; });
  std::optional<std::string> text;
  if (known && reading_.read) {
    const bool is_absolute = known->starts_with("/");
    if (!is_absolute && !state_.folder.empty()) text = reading_.read(plain_path(state_.folder + "/" + *known));
    if (!text) text = reading_.read(*known);
    if (!text && !is_absolute) text = reading_.read(parent_folder(reading_.path) + "/" + *known);
  }
  if (!text) {
    notes_.push_back(fmt::format(
        "{}: {} is not read, because it is not next to the script; the variables that it sets count as unset",
        place_text(words[0].place), shown));
    return Truth::kUnknown;
  }
  constexpr size_t kMostFiles = 100;
  if (files_.size() >= kMostFiles)
    throw user_error("{}: more than {} files are sourced", place_text(words[0].place), kMostFiles);
  files_.push_back(shown);
  std::optional<Scoped<Arguments>> source_arguments;
  if (words.size() > 2) source_arguments.emplace(state_.arguments, Arguments{Fields(words.begin() + 2, words.end())});
  const Truth truth = run_text(*text, {static_cast<int>(files_.size()) - 1});
  if (flow_ == Flow::kReturn) flow_ = Flow::kOn;
  return truth;
}

std::string Interpreter::folder(Place place) {
  return state_.folder.empty() ? environment("PWD", place) : state_.folder;
}

Truth Interpreter::run_cd(const Fields& words) {
  const size_t from = words.size() > 1 && words[1].text == "--" ? 2 : 1;
  const std::string to = from < words.size() ? words[from].text : environment("HOME", words[0].place);
  const bool is_relative = !to.starts_with("/") && !has_unknown(to.substr(0, 1));
  state_.folder = plain_path(is_relative ? folder(words[0].place) + "/" + to : to);
  return Truth::kYes;
}

/// Runs bash -c TEXT and bash FILE, also after a command that starts programs elsewhere.
std::optional<Truth> Interpreter::run_nested_shell(const Fields& words) {
  const auto shell = std::ranges::find_if(words, [](const Field& word) {
    return is_one_of(last_component(word.text), {"bash", "sh", "zsh"});
  });
  const auto is_option = [](const Field& word) { return word.text.starts_with("-") && !word.text.ends_with("c"); };
  if (shell == words.end()) return std::nullopt;
  const auto next = std::find_if_not(shell + 1, words.end(), is_option);
  if (next == words.end()) return std::nullopt;
  const bool is_text = next->text.starts_with("-");
  if (is_text && next + 1 == words.end()) return std::nullopt;
  return in_subshell([&] {
    state_.arguments = {Fields(next + std::min<ptrdiff_t>(is_text ? 3 : 1, words.end() - next), words.end())};
    if (!is_text) return run_source({*shell, *next});
    return run_text(next[1].text, next[1].place);
  });
}

}  // namespace roll::shell
