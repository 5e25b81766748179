#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "shell/interpreter.h"
#include "shell/levels.h"

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

std::string parent_of(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// What printf makes of a format with nothing but %s and \\n in it, one for each word; nullopt: it has more.
std::optional<std::string> printed(const std::vector<Field>& words, size_t from) {
  if (from >= words.size()) return std::nullopt;
  std::string text;
  const std::string& format = words[from].text;
  size_t next = from + 1;
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
  return next == words.size() ? std::optional(text) : std::nullopt;
}

std::string last_of(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path == "/" ? path : path.substr(path.rfind('/') + 1);
}

/// `path` without "." and "..", where it begins with '/'.
std::string plain_path(const std::string& path) {
  std::vector<std::string> parts;
  for (size_t from = 0; from < path.size();) {
    const size_t slash = std::min(path.find('/', from), path.size());
    const std::string part = path.substr(from, slash - from);
    if (part == ".." && !parts.empty())
      parts.pop_back();
    else if (!part.empty() && part != "." && part != "..")
      parts.push_back(part);
    from = slash + 1;
  }
  return fmt::format("/{}", fmt::join(parts, "/"));
}

/// python3 -c 'import torch_npu': it fails where this program runs, on CPUs and NVIDIA GPUs.
bool looks_for_ascend(const std::vector<Field>& words) {
  return words.size() == 3 && last_of(words[0].text).starts_with("python") && words[1].text == "-c" &&
         words[2].text == "import torch_npu";
}

}  // namespace

/// NAME=value before a command holds for that command alone.
class Interpreter::Assigned {
 public:
  Assigned(Interpreter& shell, const std::vector<Word>& words) : shell_(shell) {
    for (const Word& word : words) {
      const std::string name = word.text.substr(0, word.text.find_first_of("+=["));
      const Variable* before = shell.find(name);
      before_.emplace_back(name, before ? std::optional(*before) : std::nullopt);
      shell.assign(word);
    }
  }
  ~Assigned() {
    for (auto& [name, value] : before_)
      if (value)
        shell_.state_.variables[name] = std::move(*value);
      else
        shell_.state_.variables.erase(name);
  }
  Assigned(const Assigned&) = delete;
  Assigned& operator=(const Assigned&) = delete;

 private:
  Interpreter& shell_;
  std::vector<std::pair<std::string, std::optional<Variable>>> before_;
};

Truth Interpreter::run_command(const Node& node) {
  if (const auto declared = run_declaration(node)) return *declared;
  size_t first = 0;
  while (first < node.words.size() && assignment_at(node.words[first].text) != std::string::npos) ++first;
  Fields words = expand(std::vector<Word>(node.words.begin() + static_cast<ptrdiff_t>(first), node.words.end()));
  // `$LAUNCHER python3 ...`, where nobody sets it, runs python3.
  const auto is_something = [&](const Field& word) { return word.text.empty() || unknowns_.known(word.text) != ""; };
  words.erase(words.begin(), std::ranges::find_if(words, is_something));
  if (words.empty()) {
    output_is_known_ = output_is_known_ && node.redirects.empty();
    for (size_t i = 0; i < first; ++i) assign(node.words[i]);  // the others came to nothing
    return Truth::kYes;
  }
  const Assigned assigned(*this,
                          std::vector<Word>(node.words.begin(), node.words.begin() + static_cast<ptrdiff_t>(first)));
  const auto function = state_.functions.find(words[0].text);
  if (function != state_.functions.end()) return call_function(function->second, words);
  if (const auto truth = run_builtin_redirected(words, node)) return *truth;
  if (looks_for_ascend(words)) {
    notes_.push_back(
        fmt::format("{}: read as on a machine without Ascend NPUs, which has no torch_npu", text_of(words[0].place)));
    return Truth::kNo;
  }
  output_is_known_ = false;
  if (const auto truth = run_nested_shell(words)) return *truth;
  calls_.push_back({words, state_.doubt});
  return is_one_of(words[0].text, {"mkdir", "touch", "rm", "cp", "mv", "ln", "chmod", "sleep", "tee", "cat"})
             ? Truth::kYes
             : Truth::kUnknown;
}

Truth Interpreter::call_function(const NodePtr& body, const Fields& words) {
  const NodePtr kept = body;  // it may define itself anew
  Arguments arguments = std::exchange(state_.arguments, {Fields(words.begin() + 1, words.end())});
  const std::string doubt = state_.doubt;
  locals_.emplace_back();
  const Truth truth = run(kept);
  for (auto& [name, value] : locals_.back())
    if (value)
      state_.variables[name] = std::move(*value);
    else
      state_.variables.erase(name);
  locals_.pop_back();
  state_.arguments = std::move(arguments);
  state_.doubt = doubt;
  if (flow_ == Flow::kReturn) flow_ = Flow::kOn;
  return truth;
}

/// export, local and their like: words that assign keep their blanks, and may be arrays.
std::optional<Truth> Interpreter::run_declaration(const Node& node) {
  if (node.words.empty() || !is_one_of(node.words[0].text, {"export", "declare", "typeset", "local", "readonly"}))
    return std::nullopt;
  const bool is_local = node.words[0].text != "export" && node.words[0].text != "readonly" && !locals_.empty();
  for (size_t i = 1; i < node.words.size(); ++i) {
    const Word& word = node.words[i];
    const std::string name = word.text.substr(0, word.text.find_first_of("+=["));
    const Variable* before = find(name);
    if (is_local && is_name(name)) locals_.back().try_emplace(name, before ? std::optional(*before) : std::nullopt);
    if (assignment_at(word.text) != std::string::npos)
      assign(word);
    else if (node.words[0].text == "local" && is_name(word.text))
      set(word.text, "", word.place);
  }
  return Truth::kYes;
}

void Interpreter::print(const std::string& text) {
  if (!output_) return;
  spend(text.size() + output_->size() / 16, {});
  *output_ += text;
}

/// What goes to a file, or to the errors, is no output.
std::optional<Truth> Interpreter::run_builtin_redirected(const Fields& words, const Node& node) {
  const bool goes_elsewhere = std::ranges::any_of(node.redirects, [](const Redirect& redirect) {
    return redirect.op.find('>') != std::string::npos && !redirect.op.starts_with("2");
  });
  std::string* const output = std::exchange(output_, goes_elsewhere ? nullptr : output_);
  const auto truth = run_builtin(words, node);
  output_ = output;
  return truth;
}

std::optional<Truth> Interpreter::run_builtin(const Fields& words, const Node& node) {
  const std::string& name = words[0].text;
  if (is_one_of(name, {"true", ":", "trap", "ulimit", "wait", "umask", "shopt", "alias", "unalias", "hash", "jobs"}))
    return Truth::kYes;
  if (name == "false") return Truth::kNo;
  if (name == "test") return test(Fields(words.begin() + 1, words.end()));
  if (name == "[") return test(Fields(words.begin() + 1, words.end() - (words.back().text == "]" ? 1 : 0)));
  if (is_one_of(name, {"echo", "printf", "basename", "dirname", "pwd", "seq"})) return run_output(words);
  if (name == "set") return run_set(words);
  if (name == "read") return run_read(words, node);
  if (name == "source" || name == ".") return run_source(words);
  if (name == "cd" || name == "pushd") return run_cd(words);
  if (name == "eval")
    return run_text(joined(words, 1), origin_of(words[0].place.file), words[0].place.file, words[0].place.line);
  if (name == "shift") {
    const auto count = words.size() > 1 ? number_of(words[1].text, words[1].place) : 1;
    const int64_t taken = std::max<int64_t>(0, count.value_or(1));
    Fields& given = state_.arguments.given;
    given.erase(given.begin(), given.begin() + std::min(taken, static_cast<int64_t>(given.size())));
    state_.arguments.num_shifted += taken;
    return Truth::kYes;
  }
  if (name == "unset") {
    for (size_t i = 1; i < words.size(); ++i) set(words[i].text, "", words[i].place);
    return Truth::kYes;
  }
  if (name == "let") {
    const auto value = number_of(joined(words, 1), words[0].place);
    return !value ? Truth::kUnknown : *value != 0 ? Truth::kYes : Truth::kNo;
  }
  if (name == "break" || name == "continue" || name == "return" || name == "exit") {
    flow_ = name == "break"      ? Flow::kBreak
            : name == "continue" ? Flow::kContinue
            : name == "return"   ? Flow::kReturn
                                 : Flow::kExit;
    if (name == "exit") exit_place_ = text_of(words[0].place);
    return words.size() < 2 ? Truth::kUnknown : words[1].text == "0" ? Truth::kYes : Truth::kNo;
  }
  if (name == "mapfile" || name == "readarray" || name == "getopts") {
    const std::string& target = words.back().text;
    if (is_name(target))
      set(target, unknown_text(target + ", which `" + name + "` reads", words[0].place), words[0].place);
    return Truth::kUnknown;
  }
  return std::nullopt;
}

Truth Interpreter::run_output(const Fields& words) {
  const std::string& name = words[0].text;
  if (name == "printf" && words.size() > 2 && words[1].text == "-v") {
    std::string made;
    std::string* const output = std::exchange(output_, &made);
    const bool was_known = std::exchange(output_is_known_, true);
    Fields rest(words.begin() + 3, words.end());
    rest.insert(rest.begin(), words[0]);
    run_output(rest);
    output_ = output;
    const bool is_known = std::exchange(output_is_known_, was_known);
    set(words[2].text, is_known ? made : unknown_text(words[2].text + ", which `printf` makes", words[0].place),
        words[0].place);
    return Truth::kYes;
  }
  const bool takes_dashes = words.size() > 1 && words[1].text == "--";
  const size_t from = takes_dashes ? 2 : 1;
  const auto argument = [&](size_t i) { return from + i < words.size() ? words[from + i].text : std::string(); };
  if (name == "echo") {
    const bool has_options = words.size() > 1 && is_one_of(words[1].text, {"-n", "-e", "-ne", "-en"});
    if (has_options && words[1].text != "-n" && joined(words, 2).find('\\') != std::string::npos)
      output_is_known_ = false;
    print(joined(words, has_options ? 2 : 1) + "\n");
  } else if (name == "basename" && words.size() == from + 1) {
    print(last_of(argument(0)) + "\n");
  } else if (name == "basename" && words.size() == from + 2) {
    std::string last = last_of(argument(0));
    if (last.size() > argument(1).size() && last.ends_with(argument(1))) last.resize(last.size() - argument(1).size());
    print(last + "\n");
  } else if (name == "dirname" && words.size() == from + 1) {
    print(parent_of(argument(0)) + "\n");
  } else if (name == "pwd") {
    print((state_.folder.empty() ? environment("PWD", words[0].place) : state_.folder) + "\n");
  } else if (name == "printf" && argument(0).find_first_of("%\\") == std::string::npos) {
    print(argument(0));
  } else if (const auto text = name == "printf" ? printed(words, from) : std::nullopt) {
    print(*text);
  } else if (name == "seq" && (words.size() == 2 || words.size() == 3)) {
    const auto first = words.size() == 2 ? 1 : number_of(words[1].text, words[1].place);
    const auto last = number_of(words.back().text, words.back().place);
    if (!first || !last || *last - *first > 1000) output_is_known_ = false;
    for (int64_t i = first.value_or(0); output_is_known_ && i <= *last; ++i) print(fmt::format("{}\n", i));
  } else {
    output_is_known_ = false;
  }
  return Truth::kYes;
}

/// Only the arguments that it sets matter; options such as -e do not say what is run.
Truth Interpreter::run_set(const Fields& words) {
  const auto dashes = std::ranges::find(words, "--", &Field::text);
  if (dashes != words.end()) state_.arguments = {Fields(dashes + 1, words.end())};
  return Truth::kYes;
}

/// A here-document, or a line of a here-string, becomes the last name's value.
Truth Interpreter::run_read(const Fields& words, const Node& node) {
  const std::string& name = words.back().text;
  if (!is_name(name)) return Truth::kUnknown;
  const auto is_option = [&](const Field& word) { return word.text.starts_with("-"); };
  const bool makes_array = std::ranges::any_of(
      words, [&](const Field& word) { return is_option(word) && word.text.find('a') != std::string::npos; });
  const bool has_dash_d = std::ranges::find(words, "-d", &Field::text) != words.end();
  const auto names =
      std::ranges::count_if(words.begin() + 1, words.end(), [&](const Field& word) { return is_name(word.text); });
  for (const Redirect& redirect : node.redirects) {
    if (names > 1) break;

    std::string text;
    if (redirect.body)
      text = redirect.expands ? expand_quoted(*redirect.body, redirect.target.place) : *redirect.body;
    else if (redirect.op == "<<<")
      text = expand_one(redirect.target);
    else
      continue;
    const size_t begin = text.find_first_not_of(" \t\n"), end = text.find_last_not_of(" \t\n");
    Place place = redirect.target.place;  // the text begins in the line below
    place.line +=
        redirect.body
            ? 1 + static_cast<int>(std::count(
                      text.begin(), text.begin() + static_cast<ptrdiff_t>(begin == text.npos ? 0 : begin), '\n'))
            : 0;
    const bool is_whole = redirect.op == "<<<" || has_dash_d;
    text = begin == text.npos ? "" : text.substr(begin, end + 1 - begin);
    if (!is_whole) text.resize(std::min(text.find('\n'), text.size()));
    if (makes_array)
      set(name, Variable{split(text, place), true});
    else
      set(name, text, place);
    return Truth::kUnknown;
  }
  for (size_t i = 1; i < words.size(); ++i)
    if (is_name(words[i].text))
      set(words[i].text, unknown_text(words[i].text + ", which `read` sets", words[0].place), words[0].place);
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
    const std::string beside = parent_of(reading_.path) + "/" + *known;
    if (!is_absolute && !state_.folder.empty()) text = reading_.read(plain_path(state_.folder + "/" + *known));
    if (!text) text = reading_.read(*known);
    if (!text && !is_absolute) text = reading_.read(beside);
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
  Arguments arguments = state_.arguments;
  if (words.size() > 2) state_.arguments = {Fields(words.begin() + 2, words.end())};
  const Truth truth = run_text(*text, shown, static_cast<int>(files_.size()) - 1, 1);
  if (words.size() > 2) state_.arguments = std::move(arguments);
  if (flow_ == Flow::kReturn) flow_ = Flow::kOn;
  return truth;
}

Truth Interpreter::run_cd(const Fields& words) {
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
    return run_apart([&] {
      const size_t from = std::min(next + (is_text ? 3 : 1), words.size());
      state_.arguments = {Fields(words.begin() + static_cast<ptrdiff_t>(from), words.end())};
      if (!is_text) return run_source({words[i], words[next]});
      const Place place = words[next + 1].place;
      return run_text(words[next + 1].text, origin_of(place.file), place.file, place.line);
    });
  }
  return std::nullopt;
}

}  // namespace roll::shell
