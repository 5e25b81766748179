#include "jinja/lexer.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/error.h"
#include "unicode/unicode.h"

namespace roll::jinja {

namespace {

constexpr auto kOperators =
    std::to_array<std::string_view>({"//", "**", "==", "!=", ">=", "<=", "+", "-", "*", "/", "%", "~", "[",
                                     "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"});

bool is_name_start(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Normalizes newlines to \n and drops one at the very end, like Jinja.
std::string normal_newlines(std::string_view source) {
  std::string out;
  for (size_t i = 0; i < source.size(); ++i) {
    out += source[i] == '\r' ? '\n' : source[i];
    if (source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

void strip_end(std::string& text) {
  size_t end = text.size();
  for (size_t pos = end; pos > 0 && is_python_space(previous_code_point(text, pos));) end = pos;
  text.resize(end);
}

class Lexer {
 public:
  Lexer(std::string_view source, const std::string& origin)
      : source_(normal_newlines(source)), s_(source_), origin_(origin) {}

  std::vector<Token> run() {
    while (pos_ < s_.size()) text_then_tag();
    add(TokenKind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void fail(std::string_view what) { throw user_error("{}:{}: {}", origin_, line(), what); }

  int line() {
    line_ += static_cast<int>(std::count(s_.begin() + counted_end_, s_.begin() + pos_, '\n'));
    counted_end_ = static_cast<std::ptrdiff_t>(pos_);
    return line_;
  }

  void add(TokenKind kind, std::string text) { tokens_.push_back({kind, std::move(text), line()}); }
  bool starts(std::string_view what) const { return s_.substr(pos_).starts_with(what); }

  void skip_space() {
    for (size_t next = pos_; pos_ < s_.size() && is_python_space(next_code_point(s_, next));) pos_ = next;
  }

  /// Returns the position of the next {{, {% or {#, or the end.
  size_t next_opening(size_t from) const {
    for (size_t at = s_.find('{', from); at != std::string_view::npos; at = s_.find('{', at + 1))
      if (at + 1 < s_.size() && (s_[at + 1] == '{' || s_[at + 1] == '%' || s_[at + 1] == '#')) return at;
    return s_.size();
  }

  void text_then_tag() {
    const size_t opening = next_opening(pos_);
    std::string text(s_.substr(pos_, opening - pos_));
    const bool at_line_start = pos_ == 0 || s_[pos_ - 1] == '\n';
    if (opening < s_.size()) trim_before(text, s_.substr(opening), at_line_start);
    if (!text.empty()) add(TokenKind::kText, std::move(text));
    pos_ = opening;
    if (opening < s_.size()) tag();
  }

  /// {%- strips all whitespace before it. lstrip_blocks strips the indentation before {% and {#, unless it is {%+.
  static void trim_before(std::string& text, std::string_view tag, bool at_line_start) {
    const char sign = tag.size() > 2 ? tag[2] : '\0';
    if (sign == '-') return strip_end(text);
    if (sign == '+' || tag[1] == '{') return;
    const size_t newline = text.rfind('\n');
    if (newline == std::string::npos && !at_line_start) return;
    const size_t line_begin = newline + 1;  // npos + 1 is 0
    std::string indent = text.substr(line_begin);
    strip_end(indent);
    if (indent.empty()) text.resize(line_begin);
  }

  void tag() {
    const char kind = s_[pos_ + 1];
    if (kind == '#') return read_comment();
    if (kind == '%' && read_raw_block()) return;
    add(kind == '{' ? TokenKind::kPrintBegin : TokenKind::kTagBegin, "");
    pos_ += 2;
    if (pos_ < s_.size() && (s_[pos_] == '-' || s_[pos_] == '+')) ++pos_;
    read_code(kind == '{' ? "}}" : "%}", kind == '{' ? TokenKind::kPrintEnd : TokenKind::kTagEnd);
  }

  /// Handles whitespace after a tag or comment: -%} strips all, %} drops one newline (trim_blocks).
  void close(bool dash, bool plus, bool is_print) {
    pos_ += 2 + (dash || plus);
    if (dash) return skip_space();
    if (!plus && !is_print && starts("\n")) ++pos_;
  }

  void read_comment() {
    const size_t end = s_.find("#}", pos_ + 2);
    if (end == std::string_view::npos) fail("{# is not closed by #}");
    const char sign = end > pos_ + 2 ? s_[end - 1] : '\0';
    pos_ = end - (sign == '-' || sign == '+');
    close(sign == '-', sign == '+', false);
  }

  /// Reads {% raw %}...{% endraw %} as text; returns false at another tag.
  bool read_raw_block() {
    const size_t opening_end = tag_end(pos_, "raw");
    if (opening_end == 0) return false;
    const size_t opening_line = pos_;
    pos_ = opening_end;
    if (s_[opening_end - 3] == '-') skip_space();
    for (size_t at = s_.find("{%", pos_); at != std::string_view::npos; at = s_.find("{%", at + 2)) {
      const size_t end = tag_end(at, "endraw");
      if (end == 0) continue;
      std::string text(s_.substr(pos_, at - pos_));
      trim_before(text, s_.substr(at), false);
      add(TokenKind::kText, std::move(text));
      const bool dash = s_[end - 3] == '-', plus = s_[end - 3] == '+';
      pos_ = end - 2 - (dash || plus);
      close(dash, plus, false);
      return true;
    }
    pos_ = opening_line;
    fail("{% raw %} is not closed by {% endraw %}");
  }

  /// Returns the end of the tag {% name %} at `at`, or 0 if it is another tag.
  size_t tag_end(size_t at, std::string_view name) const {
    size_t i = at + 2;
    const auto skip = [&](std::string_view what) {
      while (i < s_.size() && what.find(s_[i]) != std::string_view::npos) ++i;
    };
    skip("-+");
    skip(" \n\t");
    if (!s_.substr(i).starts_with(name)) return 0;
    i += name.size();
    skip(" \n\t");
    skip("-+");
    return s_.substr(i).starts_with("%}") ? i + 2 : 0;
  }

  void read_code(std::string_view closing, TokenKind end_kind) {
    for (std::vector<char> open_brackets;;) {
      skip_space();
      if (pos_ >= s_.size()) fail(fmt::format("a tag is not closed by {}", closing));
      const bool dash = s_[pos_] == '-', plus = s_[pos_] == '+' && closing == "%}";
      if (open_brackets.empty() && s_.substr(pos_ + (dash || plus)).starts_with(closing)) {
        add(end_kind, "");
        return close(dash, plus, closing == "}}");
      }
      read_code_token(open_brackets);
    }
  }

  void read_code_token(std::vector<char>& open_brackets) {
    const char c = s_[pos_];
    if (c == '\'' || c == '"') return string(c);
    if (is_digit(c)) return number();
    if (is_name_start(c)) return name();
    const auto op = std::ranges::find_if(kOperators, [&](std::string_view o) { return starts(o); });
    if (op == kOperators.end()) fail(fmt::format("unexpected '{}'", std::string(1, c)));
    if (c == '(' || c == '[' || c == '{') open_brackets.push_back(c);
    if (c == ')' || c == ']' || c == '}') {
      if (open_brackets.empty()) fail(fmt::format("'{}' without an opening bracket", c));
      open_brackets.pop_back();
    }
    add(TokenKind::kOperator, std::string(*op));
    pos_ += op->size();
  }

  void name() {
    const size_t begin = pos_;
    while (pos_ < s_.size() && (is_name_start(s_[pos_]) || is_digit(s_[pos_]))) ++pos_;
    add(TokenKind::kName, std::string(s_.substr(begin, pos_ - begin)));
  }

  void number() {
    std::string digits;
    bool is_float = false;
    const auto take_digits = [&] {
      for (; pos_ < s_.size() && (is_digit(s_[pos_]) || s_[pos_] == '_'); ++pos_)
        if (s_[pos_] != '_') digits += s_[pos_];
    };
    take_digits();
    if (starts(".") && pos_ + 1 < s_.size() && is_digit(s_[pos_ + 1])) {
      is_float = true;
      digits += s_[pos_++];
      take_digits();
    }
    const size_t sign = pos_ + 1 < s_.size() && (s_[pos_ + 1] == '-' || s_[pos_ + 1] == '+') ? 2 : 1;
    if ((starts("e") || starts("E")) && pos_ + sign < s_.size() && is_digit(s_[pos_ + sign])) {
      is_float = true;
      digits += s_.substr(pos_, sign);
      pos_ += sign;
      take_digits();
    }
    if (digits.size() > 18 && !is_float) fail(fmt::format("the number {} is too large", digits));
    add(is_float ? TokenKind::kFloat : TokenKind::kInteger, digits);
  }

  void string(char quote) {
    std::string value;
    const size_t begin = pos_++;
    for (;; ++pos_) {
      if (pos_ >= s_.size()) {
        pos_ = begin;
        fail("a string is not closed");
      }
      if (s_[pos_] == quote) break;
      if (s_[pos_] == '\\' && pos_ + 1 < s_.size())
        escape(value);
      else
        value += s_[pos_];
    }
    ++pos_;
    add(TokenKind::kString, std::move(value));
  }

  /// Appends the value of a Python escape sequence; leaves pos_ on its last character.
  void escape(std::string& value) {
    static constexpr std::string_view kNames = "ntrabfv\\'\"\n", kValues = "\n\t\r\a\b\f\v\\'\"";
    const char c = s_[++pos_];
    const size_t simple = kNames.find(c);
    if (c == 'x') return hex(value, 2);
    if (c == 'u') return hex(value, 4);
    if (c == 'U') return hex(value, 8);
    if (simple == std::string_view::npos)
      value += {'\\', c};
    else if (simple < kValues.size())  // an escaped newline has no value
      value += kValues[simple];
  }

  void hex(std::string& value, size_t digits) {
    const std::string text(s_.substr(std::min(pos_ + 1, s_.size()), digits));
    if (text.size() != digits || text.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
      fail(fmt::format("an escape needs {} hexadecimal digits", digits));
    const auto c = std::stoul(text, nullptr, 16);
    if (c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) fail(fmt::format("\\u{} is not a character", text));
    append_utf8(value, static_cast<char32_t>(c));
    pos_ += digits;
  }

  std::string source_;
  std::string_view s_;
  const std::string& origin_;
  size_t pos_ = 0;
  std::ptrdiff_t counted_end_ = 0;
  int line_ = 1;
  std::vector<Token> tokens_;
};

}  // namespace

bool is_python_space(char32_t c) {
  return (c >= 0x1c && c <= 0x1f) || is_white_space(c);
}

std::vector<Token> tokenize(std::string_view source, const std::string& origin) {
  return Lexer(source, origin).run();
}

}  // namespace roll::jinja
