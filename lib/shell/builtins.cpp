// What the shell does itself, and what it makes of the others' commands.
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

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

std::string parent_of(const std::string& path) {
  const std::string plain = without_slashes(path);
  const size_t slash = plain.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : without_slashes(plain.substr(0, slash));
}

std::string last_of(const std::string& path) {
  const std::string plain = without_slashes(path);
  return plain == "/" ? plain : plain.substr(plain.rfind('/') + 1);
}

/// `path` without "." and "..", where it begins with '/'.
std::string plain_path(const std::string& path) {
  return without_slashes(std::filesystem::path(path).lexically_normal().string());
}

/// What printf makes of a format with nothing but %s, %d and \n in it, one for each word; nullopt: it has more.
std::optional<std::string> formatted(const std::string& format, std::span<const Field> words) {
  std::string text;
  size_t next = 0;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' && format[i] != '\\')
      text += format[i];
    else if (const std::string sign = format.substr(i++, 2); sign == "\\n")
      text += '\n';
    else if ((sign != "%s" && sign != "%d") || next == words.size())
      return std::nullopt;
    else
      text += words[next++].text;
  }
  return next == words.size() || text == format ? std::optional(text) : std::nullopt;
}

/// python3 -c 'import torch_npu': it fails where this program runs, on CPUs and NVIDIA GPUs.
bool looks_for_ascend(const std::vector<Field>& words) {
  return words.size() == 3 && last_of(words[0].text).starts_with("python") && words[1].text == "-c" &&
         words[2].text == "import torch_npu";
}

}  // namespace

Truth Interpreter::run_command(const Command& given) {
  Command command = given;
  Fields& words = command.words;
  // `$LAUNCHER python3 ...`, where nobody sets it, runs python3.
  const auto is_something = [&](const Field& word) { return word.text.empty() || unknowns_.known(word.text) != ""; };
  words.erase(words.begin(), std::ranges::find_if(words, is_something));
  std::vector<std::pair<std::string, std::optional<Variable>>> before;
  for (const Cursor& assignment : command.assignments) {
    const std::string name = Cursor(assignment).take_name();
    before.emplace_back(name, copy_of(name));
    elsewhere(assignment, [&] { return read_assignment(), Truth::kYes; });
  }
  if (words.empty()) {
    output_is_known_ = output_is_known_ && command.redirects.empty();
    return Truth::kYes;
  }
  const Truth truth = run_words(command);
  // NAME=value before a command holds for that command alone.
  for (auto& [name, value] : before) restore(name, std::move(value));
  return truth;
}

Truth Interpreter::run_words(const Command& command) {
  const Fields& words = command.words;
  const auto function = state_.functions.find(words[0].text);
  if (function != state_.functions.end()) return call_function(function->second, words);
  if (const auto truth = run_builtin(command)) return *truth;
  if (looks_for_ascend(words)) {
    notes_.push_back(
        fmt::format("{}: read as on a machine without Ascend NPUs, which has no torch_npu", text_of(words[0].place)));
    return Truth::kNo;
  }
  output_is_known_ = false;
  if (const auto truth = run_nested_shell(words)) return *truth;
  calls_.push_back({words, state_.doubt});
  const bool succeeds =
      is_one_of(words[0].text, {"mkdir", "touch", "rm", "cp", "mv", "ln", "chmod", "sleep", "tee", "cat"});
  return succeeds ? Truth::kYes : Truth::kUnknown;
}

Truth Interpreter::call_function(const Cursor& body, const Fields& words) {
  const Scoped arguments(state_.arguments, Arguments{Fields(words.begin() + 1, words.end())});
  const Scoped doubt(state_.doubt, state_.doubt);
  locals_.emplace_back();
  const Truth truth = elsewhere(body, [&] { return command(); });
  for (auto& [name, value] : locals_.back()) restore(name, std::move(value));
  locals_.pop_back();
  if (flow_ == Flow::kReturn) flow_ = Flow::kOn;
  return truth;
}

/// A word behind export, local and their like: what it assigns keeps its blanks, and may be an array.
void Interpreter::read_declared(const std::string& declaration) {
  const Cursor begin = cursor_;
  const std::string name = Cursor(begin).take_name();
  const bool assigns = cursor_.is_at_assignment();
  if (!assigns) {
    const auto nothing = only(false);
    read_value();
  }
  const bool is_local = declaration != "export" && declaration != "readonly" && !locals_.empty();
  const bool is_all = assigns || name == cursor_.since(begin);
  if (runs() && is_local && is_all && is_name(name)) locals_.back().try_emplace(name, copy_of(name));
  if (assigns)
    read_assignment();
  else if (runs() && declaration == "local" && is_all && is_name(name))
    set(name, "", begin.place());
}

std::optional<Truth> Interpreter::run_builtin(const Command& command) {
  static const std::map<std::string_view, Truth (Interpreter::*)(const Command&)> kBuiltins{
      {"test", &Interpreter::run_test},      {"[", &Interpreter::run_test},
      {"echo", &Interpreter::run_print},     {"printf", &Interpreter::run_print},
      {"basename", &Interpreter::run_print}, {"dirname", &Interpreter::run_print},
      {"pwd", &Interpreter::run_print},      {"seq", &Interpreter::run_print},
      {"set", &Interpreter::run_set},        {"read", &Interpreter::run_read},
      {"source", &Interpreter::run_source},  {".", &Interpreter::run_source},
      {"cd", &Interpreter::run_cd},          {"pushd", &Interpreter::run_cd},
      {"shift", &Interpreter::run_shift},    {"break", &Interpreter::run_jump},
      {"continue", &Interpreter::run_jump},  {"return", &Interpreter::run_jump},
      {"exit", &Interpreter::run_jump},      {"mapfile", &Interpreter::run_reader},
      {"getopts", &Interpreter::run_reader}, {"readarray", &Interpreter::run_reader},
  };
  const Fields& words = command.words;
  const std::string& name = words[0].text;
  if (is_one_of(name, {"true", ":", "trap", "ulimit", "wait", "umask", "shopt", "alias", "unalias", "hash", "jobs"}))
    return Truth::kYes;
  if (name == "false") return Truth::kNo;
  if (name == "eval") return run_text(joined(words, 1), name_of(words[0].place), words[0].place);
  if (name == "let") return truth_of_number(number_of(joined(words, 1), words[0].place));
  if (name == "unset") {
    for (size_t i = 1; i < words.size(); ++i) set(words[i].text, "", words[i].place);
    return Truth::kYes;
  }
  const auto builtin = kBuiltins.find(name);
  if (builtin == kBuiltins.end()) return std::nullopt;
  // What goes to a file, or to the errors, is no output.
  const bool goes_elsewhere = std::ranges::any_of(command.redirects, [](const Redirect& redirect) {
    return redirect.op.find('>') != std::string::npos && !redirect.op.starts_with("2");
  });
  const Scoped output(output_, goes_elsewhere ? nullptr : output_);
  return (this->*builtin->second)(command);
}

Truth Interpreter::run_test(const Command& command) {
  const bool has_end = command.words[0].text == "[" && command.words.back().text == "]";
  return test(Fields(command.words.begin() + 1, command.words.end() - (has_end ? 1 : 0)));
}

Truth Interpreter::run_shift(const Command& command) {
  const Fields& words = command.words;
  const auto count = words.size() > 1 ? number_of(words[1].text, words[1].place) : 1;
  const int64_t taken = std::max<int64_t>(0, count.value_or(1));
  Fields& given = state_.arguments.given;
  given.erase(given.begin(), given.begin() + std::min<int64_t>(taken, std::ssize(given)));
  state_.arguments.num_shifted += taken;
  return Truth::kYes;
}

Truth Interpreter::run_jump(const Command& command) {
  const Fields& words = command.words;
  const std::string& name = words[0].text;
  flow_ = name == "break"      ? Flow::kBreak
          : name == "continue" ? Flow::kContinue
          : name == "return"   ? Flow::kReturn
                               : Flow::kExit;
  if (name == "exit") exit_place_ = text_of(words[0].place);
  return words.size() < 2 ? Truth::kUnknown : truth_of(words[1].text == "0");
}

Truth Interpreter::run_print(const Command& command) {
  Fields words = command.words;
  const bool is_into = words[0].text == "printf" && words.size() > 2 && words[1].text == "-v";
  const Field target = is_into ? words[2] : Field{};
  if (is_into) words.erase(words.begin() + 1, words.begin() + 3);
  const auto text = printed(words);
  if (is_into)
    set(target.text, text ? *text : unknown_text(target.text + ", which `printf` makes", words[0].place),
        words[0].place);
  else if (!text)
    output_is_known_ = false;
  else if (output_) {
    spend(text->size() + output_->size() / 16, words[0].place);
    *output_ += *text;
  }
  return Truth::kYes;
}

/// nullopt: not known.
std::optional<std::string> Interpreter::printed(const Fields& words) {
  const std::string& name = words[0].text;
  const size_t from = words.size() > 1 && words[1].text == "--" ? 2 : 1;
  const size_t count = words.size() - from;
  if (name == "echo") {
    const bool has_options = words.size() > 1 && is_one_of(words[1].text, {"-n", "-e", "-ne", "-en"});
    const bool escapes = has_options && words[1].text != "-n";
    std::string text = joined(words, has_options ? 2 : 1);
    return escapes && text.find('\\') != std::string::npos ? std::nullopt : std::optional(text + "\n");
  }
  if (name == "pwd") return (state_.folder.empty() ? environment("PWD", words[0].place) : state_.folder) + "\n";
  if (name == "printf" && count > 0) return formatted(words[from].text, std::span(words).subspan(from + 1));
  if (name == "dirname" && count == 1) return parent_of(words[from].text) + "\n";
  if (name == "basename" && (count == 1 || count == 2)) {
    std::string last = last_of(words[from].text);
    const std::string& end = count == 2 ? words[from + 1].text : "";
    if (last.size() > end.size() && last.ends_with(end)) last.resize(last.size() - end.size());
    return last + "\n";
  }
  if (name != "seq" || (count != 1 && count != 2)) return std::nullopt;
  const auto first = count == 1 ? 1 : number_of(words[1].text, words[1].place);
  const auto last = number_of(words.back().text, words.back().place);
  if (!first || !last || *last - *first > 1000) return std::nullopt;
  std::string lines;
  for (int64_t i = *first; i <= *last; ++i) lines += fmt::format("{}\n", i);
  return lines;
}

/// Only the arguments that it sets matter; options such as -e do not say what is run.
Truth Interpreter::run_set(const Command& command) {
  const Fields& words = command.words;
  const auto dashes = std::ranges::find(words, "--", &Field::text);
  if (dashes != words.end()) state_.arguments = {Fields(dashes + 1, words.end())};
  return Truth::kYes;
}

Truth Interpreter::run_reader(const Command& command) {
  const Field& target = command.words.back();
  const Place place = command.words[0].place;
  if (is_name(target.text))
    set(target.text, unknown_text(target.text + ", which `" + command.words[0].text + "` reads", place), place);
  return Truth::kUnknown;
}

/// A here-document, or a line of a here-string, becomes the last name's value.
Truth Interpreter::run_read(const Command& command) {
  const Fields& words = command.words;
  const std::string& name = words.back().text;
  const auto given = std::ranges::find_if(
      command.redirects, [](const Redirect& redirect) { return redirect.is_document || redirect.op == "<<<"; });
  const auto are_names = [](const Field& word) { return is_name(word.text); };
  const auto num_names = std::count_if(words.begin() + 1, words.end(), are_names);
  if (!is_name(name)) return Truth::kUnknown;
  if (num_names > 1 || given == command.redirects.end()) {
    const Place place = words[0].place;
    for (size_t i = 1; i < words.size(); ++i)
      if (is_name(words[i].text)) set(words[i].text, unknown_text(words[i].text + ", which `read` sets", place), place);
    return Truth::kUnknown;
  }
  std::string text;
  Place place;
  elsewhere(given->target, [&] {
    place = cursor_.place();
    text = !given->is_document ? read_value() : given->expands ? quoted_text("") : std::string(cursor_.rest());
    return Truth::kYes;
  });
  const size_t begin = std::min(text.find_first_not_of(" \t\n"), text.size());
  // A document begins in the line below.
  if (given->is_document)
    place.line +=
        1 + static_cast<int>(std::count(text.begin(), text.begin() + std::ssize(text.substr(0, begin)), '\n'));
  text = text.substr(begin, text.find_last_not_of(" \t\n") + 1 - begin);
  const bool is_whole = !given->is_document || std::ranges::find(words, "-d", &Field::text) != words.end();
  if (!is_whole) text.resize(std::min(text.find('\n'), text.size()));
  const auto makes_array = [](const Field& word) {
    return word.text.starts_with("-") && word.text.find('a') != word.text.npos;
  };
  if (std::ranges::any_of(words, makes_array))
    set(name, Variable{split(text, place), true});
  else
    set(name, text, place);
  return Truth::kUnknown;
}

Truth Interpreter::run_source(const Command& command) {
  const Fields& words = command.words;
  if (words.size() < 2) return Truth::kNo;
  const auto known = unknowns_.known(words[1].text);
  const std::string shown =
      unknowns_.filled(words[1].text, [](const Unknown& unknown) { return "${" + unknown.text + "}"; });
  std::optional<std::string> text;
  if (known && reading_.read) {
    const bool is_absolute = known->starts_with("/");
    if (!is_absolute && !state_.folder.empty()) text = reading_.read(plain_path(state_.folder + "/" + *known));
    if (!text) text = reading_.read(*known);
    if (!text && !is_absolute) text = reading_.read(parent_of(reading_.path) + "/" + *known);
  }
  if (!text) {
    notes_.push_back(fmt::format("{}: {} is not read: it is not beside the script; what it sets is taken as not set",
                                 text_of(words[0].place), shown));
    return Truth::kUnknown;
  }
  constexpr size_t kMostFiles = 100;
  if (files_.size() >= kMostFiles)
    throw user_error("{}: more than {} files are sourced", text_of(words[0].place), kMostFiles);
  files_.push_back(shown);
  std::optional<Scoped<Arguments>> own;
  if (words.size() > 2) own.emplace(state_.arguments, Arguments{Fields(words.begin() + 2, words.end())});
  const Truth truth = run_text(*text, shown, {static_cast<int>(files_.size()) - 1});
  if (flow_ == Flow::kReturn) flow_ = Flow::kOn;
  return truth;
}

Truth Interpreter::run_cd(const Command& command) {
  const Fields& words = command.words;
  const size_t from = words.size() > 1 && words[1].text == "--" ? 2 : 1;
  const std::string to = from < words.size() ? words[from].text : environment("HOME", words[0].place);
  const bool is_relative = !to.starts_with("/") && !has_unknown(to.substr(0, 1));
  const std::string here = state_.folder.empty() ? environment("PWD", words[0].place) : state_.folder;
  const std::string path = is_relative ? here + "/" + to : to;
  state_.folder = path.starts_with("/") ? plain_path(path) : path;
  return Truth::kYes;
}

/// bash -c TEXT and bash FILE, also behind what starts programs elsewhere.
std::optional<Truth> Interpreter::run_nested_shell(const Fields& words) {
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (!is_one_of(last_of(words[i].text), {"bash", "sh", "zsh"})) continue;
    size_t next = i + 1;
    while (next < words.size() && words[next].text.starts_with("-") && !words[next].text.ends_with("c")) ++next;
    if (next == words.size()) return std::nullopt;
    const bool is_text = words[next].text.starts_with("-");
    if (is_text && next + 1 == words.size()) return std::nullopt;
    return apart([&] {
      const size_t from = std::min(next + (is_text ? 3 : 1), words.size());
      state_.arguments = {Fields(words.begin() + static_cast<ptrdiff_t>(from), words.end())};
      if (!is_text) return run_source({.words = {words[i], words[next]}});
      const Place place = words[next + 1].place;
      return run_text(words[next + 1].text, name_of(place), place);
    });
  }
  return std::nullopt;
}

}  // namespace roll::shell
