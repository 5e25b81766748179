#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "shell/builder.h"
#include "shell/interpreter.h"
#include "shell/levels.h"
#include "shell/pattern.h"

namespace roll::shell {

namespace {

/// The words that {a,b} and {1..3} make of one; quotes and variables in it keep their braces.
std::vector<std::string> brace_words(const std::string& text) {
  constexpr size_t kMostWords = 256;
  std::vector<std::string> words{text};
  for (size_t i = 0; i < words.size() && words.size() < kMostWords;) {
    const std::string word = words[i];
    const auto braces = find_braces(word);
    if (!braces) {
      ++i;
      continue;
    }
    words.erase(words.begin() + static_cast<ptrdiff_t>(i));
    size_t at = i;
    for (const std::string& choice : braces->choices)
      words.insert(words.begin() + static_cast<ptrdiff_t>(at++),
                   word.substr(0, braces->begin) + choice + word.substr(braces->end));
  }
  return words;
}

std::string ansi(std::string_view quoted) {
  std::string text;
  for (size_t i = 0; i < quoted.size(); ++i) {
    if (quoted[i] != '\\' || i + 1 == quoted.size()) {
      text += quoted[i];
      continue;
    }
    const char c = quoted[++i];
    text += c == 'n' ? '\n' : c == 't' ? '\t' : c;
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

Interpreter::Fields Interpreter::expand(const std::vector<Word>& words) {
  Fields all;
  for (const Word& word : words)
    for (Field& field : expand(word)) all.push_back(std::move(field));
  return all;
}

Interpreter::Fields Interpreter::expand(const Word& word) {
  const Deeper deeper(*this, word.place);
  spend(word.text.size(), word.place);
  Builder builder{.place = word.place, .splits = true, .separators = separators()};
  for (const std::string& text :
       word.text.find('{') == std::string::npos ? std::vector{word.text} : brace_words(word.text)) {
    expand_into(builder, text, word.place, /*in_quotes=*/false);
    builder.end();
  }
  for (const Field& field : builder.done) spend(field.text.size(), word.place);
  return std::move(builder.done);
}

std::string Interpreter::separators() const {
  const Variable* set = find("IFS");
  return set && !set->fields.empty() ? set->fields[0].text : " \t\n";
}

Interpreter::Fields Interpreter::split(const std::string& text, Place place) {
  Builder builder{.place = place, .splits = true, .separators = separators()};
  builder.value(text, place, /*in_quotes=*/false);
  builder.end();
  return std::move(builder.done);
}

std::string Interpreter::expand_one(const Word& word, bool as_pattern) {
  const Deeper deeper(*this, word.place);
  Builder builder{.place = word.place, .makes_pattern = as_pattern};
  expand_into(builder, word.text, word.place, /*in_quotes=*/false);
  spend(builder.text.size(), word.place);
  return builder.text;
}

std::string Interpreter::expand_quoted(std::string_view text, Place place) {
  const Deeper deeper(*this, place);
  Builder builder{.place = place};
  expand_into(builder, text, place, /*in_quotes=*/true);
  spend(builder.text.size(), place);
  return builder.text;
}

void Interpreter::expand_into(Builder& builder, std::string_view text, Place place, bool in_quotes) {
  const Deeper deeper(*this, place);
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    size_t end = at + 1;
    if (c == '\\' && end < text.size()) {
      const char next = text[end++];
      const bool stays = in_quotes && std::string_view("$`\"\\\n").find(next) == std::string_view::npos;
      if (stays) builder.literal("\\");
      if (next != '\n') builder.literal(std::string_view(&next, 1));
    } else if (c == '$') {
      end = end_of_dollar(text, at);
      expand_dollar(builder, text.substr(at, end - at), place, in_quotes);
    } else if (c == '`') {
      end = end_of_backticks(text, at);
      std::string command(text.substr(at + 1, end - at - 2));
      std::erase(command, '\\');
      builder.value(output_of(command, std::string(text.substr(at, end - at)), place), place, in_quotes);
    } else if (in_quotes) {
      builder.literal(text.substr(at, 1));
    } else if (c == '\'') {
      end = end_of_quotes(text, at);
      builder.literal(text.substr(at + 1, end - at - 2));
    } else if (c == '"') {
      end = end_of_quotes(text, at);
      const std::string_view inside = text.substr(at + 1, end - at - 2);
      const bool is_list = inside == "$@" || (inside.starts_with("${") && inside.find("@") != inside.npos);
      if (!is_list) builder.literal("");
      expand_into(builder, inside, place, /*in_quotes=*/true);
    } else if (c == '~' && at == 0 && !builder.has_text && (end == text.size() || text[end] == '/')) {
      builder.literal(environment("HOME", place));
    } else if ((c == '<' || c == '>') && text.substr(end, 1) == "(") {
      end = text.size();
      builder.literal(unknowns_.mark({Unknown::Kind::kOutput, shortened(text.substr(at)), place}));
    } else {
      builder.plain(text.substr(at, 1));
    }
    at = end;
  }
}

void Interpreter::expand_dollar(Builder& builder, std::string_view piece, Place place, bool in_quotes) {
  if (piece.starts_with("$((") && piece.ends_with("))")) {
    const auto value = number_of(std::string(piece.substr(3, piece.size() - 5)), place);
    return builder.value(
        value ? fmt::format("{}", *value) : unknowns_.mark({Unknown::Kind::kOutput, shortened(piece), place}), place,
        in_quotes);
  }
  if (piece.size() < 2) return builder.literal("$");
  if (piece[1] == '(')
    return builder.value(output_of(piece.substr(2, piece.size() - 3), std::string(piece), place), place, in_quotes);
  if (piece[1] == '{') return expand_braces(builder, piece.substr(2, piece.size() - 3), place, in_quotes);
  if (piece[1] == '\'') return builder.literal(ansi(piece.substr(2, piece.size() - 3)));
  expand_braces(builder, piece.substr(1), place, in_quotes);
}

std::string Interpreter::output_of(std::string_view command, const std::string& written, Place place) {
  const Deeper deeper(*this, place);
  const std::string unknown = unknowns_.mark({Unknown::Kind::kOutput, shortened(written), place});
  if (has_unknown(command)) return unknown;
  NodePtr tree;
  try {
    tree = parse(command, origin_of(place.file), place.file, place.line);
  } catch (const UserError&) {
    return unknown;  // it would be the shell's error, and only where it is run
  }
  std::string collected;
  std::string* const output = std::exchange(output_, &collected);
  const bool was_known = std::exchange(output_is_known_, true);
  const std::string exit_place = exit_place_;
  const size_t num_calls = calls_.size();
  run_apart([&] { return run(tree); });
  output_ = output;
  const bool is_known = std::exchange(output_is_known_, was_known);
  exit_place_ = exit_place;
  calls_.resize(num_calls);
  while (collected.ends_with('\n')) collected.pop_back();
  return is_known ? collected : unknown;
}

}  // namespace roll::shell
