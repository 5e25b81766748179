// Reads words and their pieces: quotes, variables, command substitution.
#include <fmt/format.h>

#include <algorithm>

#include "shell/interpreter.h"

namespace roll::shell {

namespace {

std::string unescape_ansi(std::string_view quoted) {
  std::string text;
  for (size_t i = 0; i < quoted.size(); ++i) {
    const bool escapes = quoted[i] == '\\' && i + 1 < quoted.size();
    const char c = quoted[escapes ? ++i : i];
    text += !escapes ? c : c == 'n' ? '\n' : c == 't' ? '\t' : c;
  }
  return text;
}

std::string shortened(std::string_view text) {
  constexpr size_t kLongest = 80;
  std::string line(text.substr(0, kLongest));
  std::ranges::replace(line, '\n', ' ');
  return text.size() > kLongest ? line + " ..." : line;
}

}  // namespace

std::string Interpreter::text_ahead(std::string_view ends) {
  const Scoped saved_cursor(cursor_, Cursor(cursor_));
  const Cursor begin = cursor_;
  const auto not_live = live_if(false);
  Builder ignored;
  read_text(ignored, ends, /*in_quotes=*/false);
  return cursor_.since(begin);
}

Builder Interpreter::builder(bool splits) const {
  const Fields* separators = find("IFS");
  Builder result{.place = cursor_.place(), .splits = splits};
  if (separators && !separators->empty()) result.separators = (*separators)[0].text;
  return result;
}

/// Reads a word, which may become several fields or none.
void Interpreter::read_word(Builder& builder) {
  const auto deep = deeper();
  const Cursor begin = cursor_;
  const size_t num_before = builder.fields.size();
  if (!builder.has_text) builder.place = cursor_.place();
  if (cursor_.is_at("<(") || cursor_.is_at(">(")) read_piece(builder, /*in_quotes=*/false);
  while (!cursor_.is_end() && !ends_word(cursor_.peek())) {
    const Braces braces = runs() && cursor_.is_at("{") ? parse_braces(cursor_.rest()) : Braces{};
    if (braces.choices.empty())
      read_piece(builder, /*in_quotes=*/false);
    else
      read_choices(builder, braces);
  }
  spend(cursor_.size_since(begin) + 8);
  builder.end_word();
  for (size_t i = num_before; runs() && i < builder.fields.size(); ++i) spend(builder.fields[i].text.size());
}

/// Reads the word once per choice of a brace expansion.
void Interpreter::read_choices(Builder& builder, const Braces& braces) {
  cursor_.skip(braces.size);
  const std::string prefix = builder.text, suffix = text_ahead(kEndsOfWords);
  for (const std::string& choice : braces.choices) {
    builder.text = prefix;
    builder.has_text = !prefix.empty();
    at_cursor(Cursor(choice + suffix, "", builder.place), [&] { read_word(builder); });
  }
  cursor_.skip(suffix.size());
}

std::string Interpreter::read_value(bool as_pattern) {
  Builder result{.place = cursor_.place(), .makes_pattern = as_pattern};
  if (cursor_.is_at("<(") || cursor_.is_at(">(")) read_piece(result, /*in_quotes=*/false);
  read_text(result, kEndsOfWords, /*in_quotes=*/false);
  spend(result.text.size() + 8);
  return result.text;
}

std::string Interpreter::quoted_text(std::string_view ends, char opens) {
  Builder result{.place = cursor_.place()};
  read_text(result, ends, /*in_quotes=*/true, opens);
  spend(result.text.size() + 8);
  return result.text;
}

void Interpreter::read_text(Builder& builder, std::string_view ends, bool in_quotes, char opens) {
  const char closes = opens == '(' ? ')' : ']';
  for (int depth = 0; !cursor_.is_end();) {
    const char c = cursor_.peek();
    if (depth == 0 && ends.find(c) != ends.npos) return;
    if (opens != '\0') depth += c == opens ? 1 : c == closes ? -1 : 0;
    if (!in_quotes || c != '"' || ends.empty()) {
      read_piece(builder, in_quotes);
      continue;
    }
    // Quotes in a quoted variable's braces, or around it, do not nest.
    cursor_.skip(1);
    read_text(builder, "\"", /*in_quotes=*/true);
    if (!cursor_.take("\"")) throw cursor_.error("a quote \" is not closed");
  }
}

void Interpreter::read_piece(Builder& builder, bool in_quotes) {
  const Cursor begin = cursor_;
  const char c = cursor_.next();
  const std::string_view sign(&c, 1);
  if (c == '\\' && !cursor_.is_end()) {
    const char next = cursor_.next();
    const bool stays = in_quotes && std::string_view("$`\"\\\n").find(next) == std::string_view::npos;
    if (stays) builder.append_literal("\\");
    if (next != '\n') builder.append_literal(std::string_view(&next, 1));
  } else if (c == '$') {
    read_dollar(builder, in_quotes, begin);
  } else if (c == '`') {
    read_output(builder, in_quotes, begin, "`");
  } else if (in_quotes) {
    builder.append_literal(sign);
  } else if (c == '\'' || c == '"') {
    read_quotes(builder, c);
  } else if (c == '~' && !builder.has_text &&
             (cursor_.is_end() || cursor_.is_at_any("/}") || ends_word(cursor_.peek()))) {
    builder.append_literal(environment("HOME", builder.place));
  } else if ((c == '<' || c == '>') && cursor_.take("(")) {
    const auto not_live = live_if(false);
    list();
    cursor_.expect(")");
    builder.append_literal(unknown_text(shortened(cursor_.since(begin)), builder.place));
  } else {
    builder.append_plain(sign);
  }
}

void Interpreter::read_quotes(Builder& builder, char quote) {
  const Cursor inside = cursor_;
  if (quote == '"')
    read_text(builder, "\"", /*in_quotes=*/true);
  else
    while (!cursor_.is_end() && cursor_.peek() != quote) cursor_.skip(1);
  const std::string text = cursor_.since(inside);
  if (cursor_.is_end()) throw inside.error(fmt::format("a quote {} is not closed", quote));
  cursor_.skip(1);
  // "$@" without arguments is no word at all.
  const bool is_list = text == "$@" || (text.starts_with("${") && text.find('@') != text.npos);
  if (quote == '\'')
    builder.append_literal(text);
  else if (!is_list)
    builder.append_literal("");
}

/// Reads an expansion after the $ at `begin`.
void Interpreter::read_dollar(Builder& builder, bool in_quotes, const Cursor& begin) {
  const auto deep = deeper();
  if (const auto expression = arithmetic()) {
    const auto value = runs() ? parse_number(*expression) : std::nullopt;
    add_found(builder, value ? std::optional(fmt::format("{}", *value)) : std::nullopt, in_quotes, begin);
  } else if (cursor_.take("(")) {
    read_output(builder, in_quotes, begin, ")");
  } else if (cursor_.take("{")) {
    read_braces(builder, in_quotes);
  } else if (!in_quotes && cursor_.take("'")) {
    const Cursor inside = cursor_;
    while (!cursor_.is_end() && cursor_.peek() != '\'')
      if (cursor_.next() == '\\') cursor_.skip(1);
    builder.append_literal(unescape_ansi(cursor_.since(inside)));
    if (!cursor_.take("'")) throw inside.error("a quote ' is not closed");
  } else {
    const bool is_sign = cursor_.is_at_any("@*#?$!-0123456789");
    const std::string name = is_sign ? std::string(1, cursor_.next()) : cursor_.take_name();
    if (name.empty())
      builder.append_literal("$");
    else
      read_name(builder, name, in_quotes);
  }
}

/// Returns the expression inside (( )); nullopt if there is none here.
std::optional<std::string> Interpreter::arithmetic() {
  const Cursor begin = cursor_;
  if (!cursor_.take("((")) return std::nullopt;
  std::string text = quoted_text(")", '(');
  if (cursor_.take("))")) return text;
  cursor_ = begin;
  return std::nullopt;
}

/// Adds a value, or an unknown piece named by the source text since `begin`.
void Interpreter::add_found(Builder& builder, const std::optional<std::string>& value, bool in_quotes,
                            const Cursor& begin) {
  if (!runs()) return;
  const std::string text = value ? *value : unknown_text(shortened(cursor_.since(begin)), builder.place);
  builder.append_value(text, builder.place, in_quotes);
}

/// Reads a command substitution after "$(" or a backtick at `begin`, through `end`.
void Interpreter::read_output(Builder& builder, bool in_quotes, const Cursor& begin, std::string_view end) {
  std::optional<std::string> printed;
  {
    const Scoped output(output_, Output{});
    const Scoped exit_place(exit_place_, exit_place_);
    const size_t num_calls = calls_.size();
    if (end == ")") {
      in_subshell([&] { return list(); });
    } else {
      std::string inside;
      for (; !cursor_.is_end() && cursor_.peek() != '`'; inside += cursor_.next())
        if (cursor_.peek() == '\\') cursor_.skip(1);
      if (runs()) in_subshell([&] { return run_text(inside, builder.place); });
    }
    calls_.resize(num_calls);
    if (output_.is_known) printed = output_.text.substr(0, output_.text.find_last_not_of('\n') + 1);
  }
  cursor_.expect(end);
  add_found(builder, printed, in_quotes, begin);
}

}  // namespace roll::shell
