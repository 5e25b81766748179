// Parses and runs lists, pipelines, loops, branches and functions.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "shell/interpreter.h"
#include "shell/pattern.h"

namespace roll::shell {

namespace {

bool ends_part(const Cursor& cursor) {
  static constexpr std::array kWords{"then", "do", "done", "fi", "elif", "else", "esac", "}"};
  return cursor.is_at(")") || cursor.is_at(";;") || cursor.is_at(";&") ||
         std::ranges::find(kWords, cursor.plain_word()) != kWords.end();
}

}  // namespace

Interpreter::Interpreter(Reading reading) : reading_(std::move(reading)) {
  for (const auto& [name, value] : reading_.environment) set(name, value, {});
  for (const std::string& value : reading_.arguments) state_.arguments.values.push_back({value, {}});
  state_.arguments.has_more = reading_.has_more_arguments;
}

void Interpreter::run(std::string_view text, const std::string& origin, int first_line) {
  files_.push_back(origin);
  run_text(std::string(text), {static_cast<int>(files_.size()) - 1, first_line});
}

Truth Interpreter::run_text(const std::string& text, Place begin) {
  if (has_unknown(text)) return output_.is_known = false, Truth::kUnknown;
  return at_cursor(Cursor(text, place_file(begin), begin), [&] {
    spend(text.size());
    const Truth truth = list();
    if (!cursor_.is_end()) throw cursor_.error(fmt::format("`{}` where a command is expected", cursor_.peek()));
    return truth;
  });
}

std::string Interpreter::place_text(Place place) const {
  return fmt::format("{}:{}", place_file(place), place.line);
}

void Interpreter::spend(size_t work) {
  work_ += work;
  if (work_ > kMostWork)
    throw user_error("{}: the script runs too long, or grows too large, for one that starts a training",
                     place_text(cursor_.place()));
}

Scoped<int> Interpreter::deeper() {
  constexpr int kDeepest = 180;
  if (depth_ == kDeepest)
    throw user_error("{}: commands, functions and variables are nested too deep", place_text(cursor_.place()));
  return {depth_, depth_ + 1};
}

/// Reads commands up to the end, or to a word or sign that ends a compound command.
Truth Interpreter::list() {
  Truth last = Truth::kYes;
  for (cursor_.skip_lines(); !cursor_.is_end() && !ends_part(cursor_); cursor_.skip_lines()) {
    const bool ran = runs();
    const Truth truth = and_or();
    if (ran) last = truth;
    cursor_.skip_blanks();
    if (cursor_.is_at(";;") || cursor_.is_at(";&")) break;
    if (!cursor_.take(";") && !cursor_.take("&") && !cursor_.is_end() && !cursor_.is_at_any("\n)"))
      throw cursor_.error(fmt::format("`{}` after a command", cursor_.peek()));
  }
  return last;
}

/// If the left side of `a && b` may fail, both outcomes are followed, and values that `b` sets become unknown.
Truth Interpreter::and_or() {
  cursor_.skip_blanks();
  Place place = cursor_.place();
  Truth last = pipeline();
  for (;;) {
    cursor_.skip_blanks();
    const bool is_and = cursor_.take("&&");
    if (!is_and && !cursor_.take("||")) return last;
    cursor_.skip_lines();
    const Place before = std::exchange(place, cursor_.place());
    last = run_either(
        is_and ? last : not_(last), [&] { return pipeline(); }, [&] { return is_and ? Truth::kNo : Truth::kYes; },
        "whether a command succeeds", before);
  }
}

bool Interpreter::take_pipe() {
  cursor_.skip_blanks();
  if (cursor_.is_at("||") || (!cursor_.take("|&") && !cursor_.take("|"))) return false;
  cursor_.skip_lines();
  return true;
}

Truth Interpreter::pipeline() {
  bool negates = false, is_several = !runs();
  while (cursor_.take_word("!")) negates = !negates;
  cursor_.take_word("time");
  if (runs()) {
    const auto not_live = live_if(false);
    at_cursor(cursor_, [&] { command(), is_several = take_pipe(); });
  }
  Truth truth = Truth::kUnknown;
  if (is_several) {
    do in_subshell([&] { return command(); });
    while (take_pipe());
    output_.is_known = output_.is_known && !runs();
  } else
    truth = command();
  return negates ? not_(truth) : truth;
}

Truth Interpreter::command() {
  const auto deep = deeper();
  cursor_.skip_blanks();
  spend(200);
  const auto truth = compound();
  if (!truth) return simple();
  std::vector<Redirect> redirects;
  for (cursor_.skip_blanks(); read_redirect(redirects); cursor_.skip_blanks()) {
  }
  return *truth;
}

std::optional<Truth> Interpreter::compound() {
  const auto bracketed = [&](std::string_view end, const Branch& branch) {
    const Truth truth = branch();
    cursor_.expect(end);
    return truth;
  };
  if (const auto expression = arithmetic()) return truth_of_number(runs() ? parse_number(*expression) : std::nullopt);
  if (cursor_.take("(")) return bracketed(")", [&] { return in_subshell([&] { return list(); }); });
  const std::string_view word = cursor_.plain_word();
  const auto takes = [&](std::string_view keyword) { return word == keyword && cursor_.take(keyword); };
  if (takes("{")) return bracketed("}", [&] { return list(); });
  if (takes("if")) return bracketed("fi", [&] { return branches(); });
  if (takes("while")) return while_loop(/*is_until=*/false);
  if (takes("until")) return while_loop(/*is_until=*/true);
  if (takes("for")) return for_loop();
  if (takes("[[")) return test_words();
  if (takes("case")) {
    cursor_.skip_blanks();
    const auto subject = unknowns_.known(read_value());
    cursor_.expect("in");
    return cases(subject);
  }
  if (!takes("function")) return std::nullopt;
  cursor_.skip_blanks();
  const std::string name(cursor_.plain_word());
  cursor_.take(name);
  return define(name);
}

/// Reads the rest of `if` or `elif`, up to `fi`.
Truth Interpreter::branches() {
  const auto deep = deeper();
  cursor_.skip_lines();
  const Place place = cursor_.place();
  const Truth truth = list();
  cursor_.expect("then");
  const auto otherwise = [&] {
    if (cursor_.take_word("elif")) return branches();
    return cursor_.take_word("else") ? list() : Truth::kYes;
  };
  return run_either(
      truth, [&] { return list(); }, otherwise, "the condition", place);
}

/// Reads a loop's body through its closing word; returns false if the loop ends here.
bool Interpreter::body(std::string_view end) {
  const bool ran = runs();
  list();
  cursor_.expect(end);
  const bool ends = flow_ == Flow::kBreak || flow_ == Flow::kReturn || flow_ == Flow::kExit;
  if (ran && (flow_ == Flow::kBreak || flow_ == Flow::kContinue)) flow_ = Flow::kOn;
  return !ends;
}

/// Runs one iteration once the condition is known; nullopt: the loop continues.
std::optional<Truth> Interpreter::run_iteration(Truth condition, std::string_view end, Place place) {
  if (!runs()) return body(end), Truth::kUnknown;
  const auto nothing = [] { return Truth::kUnknown; };
  const Truth continues = run_either(
      condition, [&] { return to_truth(body(end)); }, nothing, "the condition", place);
  if (condition == Truth::kNo) return Truth::kYes;
  return condition == Truth::kYes && continues == Truth::kYes ? std::nullopt : std::optional(Truth::kUnknown);
}

Truth Interpreter::while_loop(bool is_until) {
  cursor_.skip_lines();
  for (const Cursor begin = cursor_;; cursor_ = begin) {
    const Truth truth = list();
    cursor_.expect("do");
    if (const auto end = run_iteration(is_until ? not_(truth) : truth, "done", begin.place())) return *end;
  }
}

std::string_view Interpreter::loop_begin() {
  cursor_.skip_blanks();
  cursor_.take(";");
  cursor_.skip_lines();
  if (cursor_.take("{")) return "}";
  cursor_.expect("do");
  return "done";
}

Truth Interpreter::for_loop() {
  cursor_.skip_blanks();
  const Place place = cursor_.place();
  if (cursor_.take("((")) return counted_for();
  const std::string name = cursor_.take_name();
  if (!is_name(name)) throw cursor_.error("`for` needs a name");
  cursor_.skip_lines();
  Builder values = builder(/*splits=*/true);
  if (!cursor_.take_word("in"))
    values.fields = state_.arguments.values;
  else
    for (cursor_.skip_blanks(); !cursor_.is_end() && !ends_word(cursor_.peek()); cursor_.skip_blanks())
      read_word(values);
  const std::string_view end = loop_begin();
  const Cursor begin = cursor_;
  if (!runs() || values.fields.empty()) {
    const auto not_live = live_if(false);
    return body(end), Truth::kUnknown;
  }
  for (const Field& value : values.fields) {
    cursor_ = begin;
    set(name, value.text, value.place);
    const bool is_known = unknowns_.known(value.text).has_value() || values.fields.size() > 1;
    const Truth continues = run_either(
        is_known ? Truth::kYes : Truth::kUnknown, [&] { return to_truth(body(end)); }, [] { return Truth::kYes; },
        "the list of the loop", place);
    if (flow_ != Flow::kOn || continues == Truth::kNo) break;
  }
  return Truth::kUnknown;
}

Truth Interpreter::counted_for() {
  const Place place = cursor_.place();
  std::array<Cursor, 3> parts;
  const auto read = [&](size_t i) { return quoted_text(i < 2 ? ";" : ")", '('); };
  for (size_t i = 0; i < parts.size(); ++i) {
    parts.at(i) = cursor_;
    const auto not_live = live_if(false);
    read(i);
    cursor_.expect(i < 2 ? ";" : "))");
  }
  const auto value = [&](size_t i) {
    const std::string text = runs() ? at_cursor(parts.at(i), [&] { return read(i); }) : "";
    const bool is_endless = text.find_first_not_of(" \t\n") == text.npos;
    return is_endless ? Truth::kYes : truth_of_number(parse_number(text));
  };
  const std::string_view end = loop_begin();
  value(0);
  for (const Cursor begin = cursor_;; cursor_ = begin, value(2))
    if (const auto ended = run_iteration(value(1), end, place)) return *ended;
}

/// Reads the patterns of a `case` branch and returns whether `subject` matches one.
Truth Interpreter::patterns_fit(const std::optional<std::string>& subject) {
  cursor_.take("(");
  Truth fits = subject ? Truth::kNo : Truth::kUnknown;
  do {
    cursor_.skip_blanks();
    const auto pattern = unknowns_.known(read_value(/*as_pattern=*/true));
    if (runs()) spend((subject ? subject->size() : 1) * (pattern ? pattern->size() : 1));
    if (!pattern)
      fits = fits == Truth::kNo ? Truth::kUnknown : fits;
    else if (*pattern == "*" || (subject && matches_pattern(*subject, *pattern)))
      fits = Truth::kYes;
    cursor_.skip_blanks();
  } while (cursor_.take("|"));
  cursor_.expect(")");
  return fits;
}

/// Reads the rest of a `case`, from its `in` or the end of a branch.
Truth Interpreter::cases(const std::optional<std::string>& subject) {
  const auto deep = deeper();
  const auto branch = [&] {
    const Truth truth = list();
    if (!cursor_.take(";;&") && !cursor_.take(";;") && !cursor_.take(";&") && cursor_.plain_word() != "esac")
      throw cursor_.error("`;;` is missing");
    return truth;
  };
  const auto rest = [&] { return cases(subject); };
  for (;;) {
    cursor_.skip_lines();
    if (cursor_.take_word("esac")) return Truth::kYes;
    const Place place = cursor_.place();
    const Truth fits = patterns_fit(subject);
    if (runs() && fits != Truth::kNo) return run_either(fits, branch, rest, "the case", place);
    const auto not_live = live_if(false);
    branch();
  }
}

/// Defines a function, after its name.
Truth Interpreter::define(const std::string& name) {
  cursor_.skip_blanks();
  if (cursor_.take("(")) cursor_.expect(")");
  cursor_.skip_lines();
  if (runs()) state_.functions[name] = cursor_;
  const auto not_live = live_if(false);
  return command(), Truth::kYes;
}

bool Interpreter::read_redirect(std::vector<Redirect>& redirects) {
  static constexpr std::array kSigns{"&>>", "&>", "<<<", "<<-", "<<", "<>", "<&", "<", ">>", ">&", ">|", ">"};
  Cursor lookahead = cursor_;
  while (lookahead.is_at_any("0123456789")) lookahead.next();
  if (lookahead.is_at("<(") || lookahead.is_at(">(") || (lookahead.is_at("&") && !lookahead.is_same(cursor_)))
    return false;
  const auto sign = std::ranges::find_if(kSigns, [&](const char* each) { return lookahead.take(each); });
  if (sign == kSigns.end()) return false;
  Redirect redirect{lookahead.since(cursor_), {}};
  cursor_ = lookahead;
  cursor_.skip_blanks();
  const Cursor begin = redirect.target = cursor_;
  const auto not_live = live_if(false);
  read_value();
  redirect.is_text = std::string_view(*sign).starts_with("<<");
  if (redirect.is_text && redirect.op != "<<<") {
    const std::string quoted = cursor_.since(begin);
    std::string last = quoted;
    std::erase_if(last, [](char c) { return c == '\'' || c == '"' || c == '\\'; });
    redirect.expands = last == quoted;
    redirect.target = Cursor(cursor_.document(last, redirect.op.ends_with("-")), "", begin.place());
    spend(redirect.target.rest().size());
  }
  redirects.push_back(std::move(redirect));
  return true;
}

Truth Interpreter::simple() {
  Command command;
  const Cursor start = cursor_;
  bool has_words = false;
  std::string declaration;
  for (; !cursor_.is_end(); cursor_.skip_blanks()) {
    if (read_redirect(command.redirects)) continue;
    if (ends_word(cursor_.peek()) && !cursor_.is_at("<(") && !cursor_.is_at(">(")) break;
    if (!has_words && cursor_.is_at_assignment()) {
      command.assignments.push_back(cursor_);
      const auto not_live = live_if(false);
      read_assignment();
      continue;
    }
    if (!declaration.empty()) {
      read_declared(declaration);
      continue;
    }
    const Cursor begin = cursor_;
    Builder word = builder(/*splits=*/true);
    read_word(word);
    const std::string written = cursor_.since(begin);
    if (has_words && written.ends_with('=') && cursor_.is_at("(")) {  // eval NAME=( ... )
      cursor_ = begin;
      read_assignment();
      continue;
    }
    cursor_.skip_blanks();
    if (!has_words && command.assignments.empty() && cursor_.is_at("(")) return define(written);
    static constexpr std::array kDeclarations{"export", "declare", "typeset", "local", "readonly"};
    const bool declares = std::ranges::find(kDeclarations, written) != kDeclarations.end();
    if (declares && !has_words && command.assignments.empty()) declaration = written;
    has_words = true;
    std::ranges::move(word.fields, std::back_inserter(command.words));
  }
  if (cursor_.is_same(start))
    throw cursor_.error(cursor_.is_end() ? "the script ends where a command is expected"
                                         : fmt::format("`{}` where a command is expected", cursor_.peek()));
  return !runs() ? Truth::kUnknown : !declaration.empty() ? Truth::kYes : run_command(std::move(command));
}

}  // namespace roll::shell
