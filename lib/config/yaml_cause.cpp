#include "config/yaml_cause.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/utf8.h"

namespace roll {

namespace {

using Lines = std::vector<std::string_view>;  // line n has index n - 1

Lines split_lines(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

size_t indentation(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

/// True for a line with only space or a comment.
bool is_blank(std::string_view line) {
  const size_t first = line.find_first_not_of(" \t");
  return first == std::string_view::npos || line[first] == '#';
}

/// Returns the nearest line above `line` that is not blank; 0: none.
int line_above(const Lines& lines, int line) {
  for (--line; line > 0 && is_blank(lines[line - 1]); --line) {
  }
  return std::max(line, 0);
}

/// An opened quote or bracket, and the line that closes it (0: never).
struct Opening {
  char mark = 0;
  int line = 0;
  int column = 0;
  int closed_in = 0;
};

/// Finds unbalanced quotes and brackets of a text, like a parser that never gives up.
class Openings {
 public:
  explicit Openings(const Lines& lines) {
    for (size_t i = 0; i < lines.size(); ++i) {
      if (quote_.mark || !is_in_block(lines[i])) read(lines[i], static_cast<int>(i) + 1);
    }
    if (quote_.mark && !split_quote) split_quote = quote_;
    if (!open_.empty()) open_bracket = open_.back();
  }

  std::optional<Opening> split_quote;      // first quote that does not end in its line
  std::optional<Opening> open_bracket;     // innermost bracket that is never closed
  std::optional<Opening> unmatched_close;  // first closing bracket without an opening one

 private:
  /// True if the line belongs to a block text after `|` or `>`.
  bool is_in_block(std::string_view line) {
    if (block_ && !is_blank(line) && indentation(line) <= *block_) block_.reset();
    return block_.has_value();
  }

  void read(std::string_view line, int number) {
    bool begins_value = true;
    for (size_t i = 0; i < line.size(); ++i) {
      const char c = line[i];
      const Opening opening{c, number, static_cast<int>(i) + 1};
      if (quote_.mark) {
        i += read_quoted(line, i, number);
        begins_value = false;
      } else if (c == '#' && (i == 0 || line[i - 1] == ' ')) {
        return;
      } else if ((c == '"' || c == '\'') && begins_value) {
        quote_ = opening;
      } else {
        read_bracket(opening, begins_value);
        const bool ends_at = i + 1 == line.size() || line[i + 1] == ' ';
        const bool opens = c == '[' || c == '{' || c == ',' || ((c == ':' || c == '-') && ends_at);
        begins_value = opens || (c == ' ' && begins_value);
      }
    }
    const size_t last = line.find_last_not_of(" +-123456789");
    if (!quote_.mark && last != std::string_view::npos && last > 0 && line[last - 1] == ' ' &&
        (line[last] == '|' || line[last] == '>'))
      block_ = indentation(line);
  }

  /// Reads a character inside quotes; returns the number of further characters that belong to it.
  size_t read_quoted(std::string_view line, size_t i, int number) {
    if (quote_.mark == '"' && line[i] == '\\') return 1;
    if (line[i] != quote_.mark) return 0;
    if (quote_.mark == '\'' && i + 1 < line.size() && line[i + 1] == '\'') return 1;
    quote_.closed_in = number;
    if (quote_.line != number && !split_quote) split_quote = quote_;
    quote_ = {};
    return 0;
  }

  void read_bracket(const Opening& opening, bool begins_value) {
    if ((opening.mark == '[' || opening.mark == '{') && (begins_value || !open_.empty())) open_.push_back(opening);
    if (opening.mark != ']' && opening.mark != '}') return;
    if (!open_.empty())
      open_.pop_back();
    else if (!unmatched_close)
      unmatched_close = opening;
  }

  Opening quote_;
  std::vector<Opening> open_;
  std::optional<size_t> block_;  // indentation of the line that opened it
};

std::optional<YamlCause> tab_cause(const Lines& lines, int line) {
  for (int at = line; at > 0 && at >= line - 1; --at) {
    const std::string_view text = lines[at - 1];
    const size_t first = indentation(text);
    if (first < text.size() && text[first] == '\t')
      return YamlCause{at, static_cast<int>(first) + 1, "a tab in the indentation; YAML indents with spaces"};
  }
  return {};
}

std::optional<YamlCause> opening_cause(const Lines& lines, const std::string& parser_words) {
  const Openings openings(lines);
  const auto cause = [](const Opening& at, const std::string& words) { return YamlCause{at.line, at.column, words}; };
  if (const auto& quote = openings.split_quote)
    return cause(*quote, quote->closed_in == 0
                             ? "this quote is never closed; close it where its text ends"
                             : fmt::format("this quote is closed only in line {}; close it where its text ends",
                                           quote->closed_in));
  if (parser_words.find("flow") == std::string::npos) return {};
  if (const auto& bracket = openings.unmatched_close)
    return cause(*bracket, fmt::format("this '{}' has no opening bracket; remove it", bracket->mark));
  if (const auto& bracket = openings.open_bracket)
    return cause(*bracket, fmt::format("this '{}' is never closed; close it with '{}'", bracket->mark,
                                       bracket->mark == '[' ? ']' : '}'));
  return {};
}

/// Returns the index of the next ": " (or of a ':' that ends the line), from `from` on; npos if there is none.
size_t find_colon(std::string_view line, size_t from = 0) {
  for (size_t at = line.find(':', from); at != std::string_view::npos; at = line.find(':', at + 1))
    if (at + 1 == line.size() || line[at + 1] == ' ') return at;
  return std::string_view::npos;
}

/// Returns the cause for a line that should be `key: value` but lacks ": ".
std::optional<YamlCause> missing_colon(std::string_view line, int number) {
  const size_t first = indentation(line);
  const size_t end = line.find_first_of(" :=", first);
  if (find_colon(line) != std::string_view::npos || line.substr(first).starts_with("- ") ||
      end == std::string_view::npos)
    return {};
  const size_t value = line.find_first_not_of(" :=", end);
  const std::string_view rest = value == std::string_view::npos ? "" : line.substr(value);
  return YamlCause{number, static_cast<int>(end) + 1,
                   fmt::format("no ': ' between key and value; write `{}: {}`", line.substr(first, end - first), rest)};
}

std::optional<YamlCause> map_value_cause(const Lines& lines, int line) {
  const std::string_view text = lines[line - 1];
  const size_t colon = find_colon(text);
  const size_t second = colon == std::string_view::npos ? colon : find_colon(text, colon + 1);
  if (second != std::string_view::npos)
    return YamlCause{line, static_cast<int>(second) + 1,
                     "a second ': ' in one line; put the value in quotes, or move the second key to a new line"};
  const int above = line_above(lines, line);
  if (above == 0) return {};
  if (const auto cause = missing_colon(lines[above - 1], above)) return cause;
  if (indentation(text) <= indentation(lines[above - 1])) return {};
  return YamlCause{
      line, static_cast<int>(indentation(text)) + 1,
      fmt::format("indented deeper than line {}, which has a value already; begin both in the same column", above)};
}

/// Returns the columns in which `line` may begin, given the lines above, the deepest first.
std::vector<size_t> open_columns(const Lines& lines, int line) {
  std::vector<size_t> columns;
  for (int at = line_above(lines, line); at > 0; at = line_above(lines, at)) {
    const size_t column = indentation(lines[at - 1]) + 1;
    if (columns.empty() || column < columns.back()) columns.push_back(column);
  }
  return columns;
}

std::optional<YamlCause> end_of_block_cause(const Lines& lines, int line, int column) {
  const std::string_view text = lines[line - 1];
  if (const auto cause = missing_colon(text, line)) return cause;
  const size_t first = indentation(text);
  if (static_cast<int>(first) + 1 != column && text.find_first_of("\"'") != std::string_view::npos)
    return YamlCause{line, column, "text after a closing quote; put the whole value in quotes"};
  const auto columns = open_columns(lines, line);
  if (columns.empty() || std::find(columns.begin(), columns.end(), first + 1) != columns.end()) return {};
  return YamlCause{line, static_cast<int>(first) + 1,
                   fmt::format("begins in column {}, in which no line above begins; begin it in column {}", first + 1,
                               fmt::join(columns, " or "))};
}

/// Returns the cause that matches the parser's message; the messages are yaml-cpp's (<yaml-cpp/exceptions.h>).
std::optional<YamlCause> cause_by_words(const Lines& lines, int line, int column, const std::string& words) {
  const auto parser_says = [&](const char* part) { return words.find(part) != std::string::npos; };
  const std::string_view rest = lines[line - 1].substr(std::min<size_t>(column - 1, lines[line - 1].size()));
  if (parser_says("illegal map value")) return map_value_cause(lines, line);
  if (parser_says("end of map not found") || parser_says("end of sequence not found"))
    return end_of_block_cause(lines, line, column);
  if (parser_says("unknown token") && !rest.empty())
    return YamlCause{line, column, fmt::format("a value cannot begin with '{}'; put it in quotes", rest[0])};
  if (parser_says("illegal block entry"))
    return YamlCause{line, column,
                     "a list item on the line of its key; begin it on the next line, or write [item, item]"};
  if (parser_says("anchor is not defined"))
    return YamlCause{line, column, "no anchor (&name) of this name is defined above"};
  return {};
}

}  // namespace

YamlCause yaml_cause(std::string_view text, int line, int column, const std::string& parser_words) {
  const Lines lines = split_lines(text);
  const int last = static_cast<int>(lines.size());
  const YamlCause parser_cause{line, column, parser_words};
  if (lines.empty() || line < 1 || column < 1) return parser_cause;
  if (const auto cause = tab_cause(lines, std::min(line, last))) return *cause;
  if (const auto cause = opening_cause(lines, parser_words)) return *cause;
  if (line > last) return parser_cause;
  return cause_by_words(lines, line, column, parser_words).value_or(parser_cause);
}

std::string pointed_line(std::string_view text, int line, int column) {
  constexpr size_t kBefore = 60, kWidth = 100;
  const Lines lines = split_lines(text);
  if (line < 1 || column < 1 || line > static_cast<int>(lines.size())) return "";
  const size_t at = std::min<size_t>(column - 1, lines[line - 1].size());
  const size_t from = at > kBefore ? std::min(next_character(lines[line - 1], at - kBefore), at) : 0;
  std::string shown(whole_characters(lines[line - 1].substr(from), kWidth));
  for (char& c : shown)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  // The caret counts characters, not bytes.
  const int64_t width = num_characters(lines[line - 1].substr(from, at - from));
  const std::string number = std::to_string(line);
  return fmt::format("\n  {} | {}\n  {} | {}^", number, shown, std::string(number.size(), ' '),
                     std::string(static_cast<size_t>(width), ' '));
}

}  // namespace roll
