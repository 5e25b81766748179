// One pass over the text, by the kind of each character; commands.h has the tables of commands and synonyms.
#include "reward/math/lexer.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/utf8.h"
#include "reward/math/commands.h"
#include "reward/math/limits.h"
#include "reward/math/number_text.h"

namespace roll::math {

namespace {

using TokenKind = Token::Kind;

bool digit(char c) {
  return c >= '0' && c <= '9';
}
bool letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/// Returns the end (one past) of the braces that open at `at`, or npos.
size_t closing_brace(std::string_view s, size_t at) {
  int depth = 0;
  for (size_t i = at; i < s.size(); ++i) {
    if (s[i] == '\\') {
      ++i;
    } else if (s[i] == '{') {
      ++depth;
    } else if (s[i] == '}' && --depth == 0) {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

size_t skip_spaces(std::string_view s, size_t at) {
  while (at < s.size() && space(s[at])) ++at;
  return at;
}

/// Returns the length of an unambiguous thousands separator at `at`, else 0; with `comma` also of a bare comma.
size_t separator_length(std::string_view s, size_t at, bool comma) {
  for (const std::string_view x : {"{,}", ",\\!", "\\,", "\\!", "{\\,}"})
    if (s.substr(at).starts_with(x)) return x.size();
  if (at < s.size() && s[at] == '{') {  // "{ , }"
    const size_t inside = skip_spaces(s, at + 1), close = skip_spaces(s, inside + 1);
    if (inside < s.size() && s[inside] == ',' && close < s.size() && s[close] == '}') return close + 1 - at;
  }
  return comma && at < s.size() && s[at] == ',' ? 1 : 0;
}

bool three_digits(std::string_view s, size_t at) {
  return at + 3 <= s.size() && digit(s[at]) && digit(s[at + 1]) && digit(s[at + 2]) &&
         (at + 3 == s.size() || !digit(s[at + 3]));
}

/// Returns whether the comma at `at` has one to three digits before it (no leading zero) and three after it.
bool thousands_comma(std::string_view s, size_t at) {
  size_t begin = at;
  while (begin > 0 && digit(s[begin - 1])) --begin;
  const size_t n = at - begin;
  const bool first = n >= 1 && n <= 3 && s[begin] != '0' && (begin == 0 || s[begin - 1] != '.');
  const bool later = n == 3 && begin > 0 && s[begin - 1] == ',';
  return (first || later) && three_digits(s, at + 1);
}

/// Returns whether every comma outside brackets separates thousands: "1,000" is one number, "333, 333" are two.
bool commas_are_thousands(std::string_view s) {
  int depth = 0;
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '\\' && i + 1 < s.size() && s[i + 1] != '{' && s[i + 1] != '}') {
      ++i;  // spacing such as "\,", and "\(" around formulas
    } else if (s[i] == '(' || s[i] == '[' || (s[i] == '{' && i > 0 && s[i - 1] == '\\')) {
      ++depth;
    } else if (s[i] == ')' || s[i] == ']' || (s[i] == '}' && i > 0 && s[i - 1] == '\\')) {
      --depth;
    } else if (s[i] == ',') {
      const size_t before = s.substr(0, i).find_last_not_of(' ');
      const bool spaced = separator_length(s, i, false) > 0 || (before != std::string_view::npos && s[before] == '{');
      if (depth > 0 || (!spaced && !thousands_comma(s, i))) return false;
    }
  }
  return true;
}

/// Returns whether a single upright letter after a number is a unit, which nobody would take for a variable.
bool is_unit_letter(std::string_view text) {
  return text.size() == 1 && std::string_view("mgshLNJWVK").find(text[0]) != std::string_view::npos;
}

/// Returns whether the text is a compound unit such as "~m/s^2".
bool is_compound_unit(std::string_view text) {
  const bool is_made_of_units = std::ranges::all_of(text, [](char c) {
    return letter(c) || digit(c) || std::string_view("~ /^{}-").find(c) != std::string_view::npos;
  });
  return is_made_of_units && text.find('/') != std::string_view::npos && !digit(text[0]);
}

/// Makes one pass over the text; each `take_*` appends tokens and advances.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : s_(text), thousands_(commas_are_thousands(text)) {}

  std::vector<Token> run() {
    while (at_ < s_.size()) {
      take();
      if (tokens_.size() > 4 * kMaxNodes) throw Unreadable("too long");
    }
    add(TokenKind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  void add(TokenKind kind, std::string text) {
    tokens_.push_back({kind, std::move(text), space_});
    space_ = false;
  }

  void take() {
    const char c = s_[at_];
    if (space(c) || c == '~') {
      space_ = true;
      ++at_;
    } else if (c == '$' || c == '"' || c == '`') {
      ++at_;
    } else if (digit(c) || (c == '.' && at_ + 1 < s_.size() && digit(s_[at_ + 1]))) {
      take_number();
    } else if (c == '\\') {
      take_command();
    } else if (letter(c)) {
      take_letters();
    } else if (static_cast<unsigned char>(c) >= 0x80) {
      take_unicode();
    } else {
      take_sign();
    }
  }

  void take_sign() {
    struct Spelling {
      std::string_view text;
      TokenKind kind;
      const char* meaning;
    };
    constexpr Spelling kSpellings[] = {{"**", TokenKind::kSign, "^"},     {"{:}", TokenKind::kSign, ":"},
                                       {"<=", TokenKind::kCommand, "le"}, {">=", TokenKind::kCommand, "ge"},
                                       {"!=", TokenKind::kCommand, "ne"}, {"*", TokenKind::kCommand, "cdot"}};
    for (const auto& [text, kind, meaning] : kSpellings) {
      if (!s_.substr(at_).starts_with(text)) continue;
      at_ += text.size();
      return add(kind, meaning);
    }
    add(TokenKind::kSign, std::string(1, s_[at_++]));
  }

  void take_number() {
    if (tokens_.empty() || !tokens_.back().sign(":"))
      if (const size_t n = time_or_date_length(s_.substr(at_), tokens_.empty()); n > 0) {
        const std::string text(s_.substr(at_, n));
        at_ += n;
        return add(TokenKind::kText, plain_time(text));
      }
    std::string digits;
    while (at_ < s_.size() && digit(s_[at_])) digits += s_[at_++];
    const bool whole = !digits.empty() && digits.size() <= 3 && digits[0] != '0';
    for (size_t n; whole && at_ < s_.size() && (n = separator_length(s_, at_, thousands_)) > 0;) {
      const size_t next = skip_spaces(s_, at_ + n);
      if (!three_digits(s_, next)) break;
      digits.append(s_.substr(next, 3));
      at_ = next + 3;
    }
    while (whole && thousands_ && at_ < s_.size() && s_[at_] == ' ' && three_digits(s_, at_ + 1)) {
      digits.append(s_.substr(at_ + 1, 3));
      at_ += 4;
    }
    if (at_ + 1 < s_.size() && s_[at_] == '.' && digit(s_[at_ + 1])) {
      digits += '.';
      for (++at_; at_ < s_.size() && digit(s_[at_]);) digits += s_[at_++];
    }
    if (digits[0] == '.') digits.insert(0, "0");
    take_period(digits);
    add(TokenKind::kNumber, std::move(digits));
  }

  /// Appends repeating digits as "0.1(6)": under a bar, between dots, in brackets after the point, or before "...".
  void take_period(std::string& digits) {
    const Period period = period_at(s_.substr(at_), digits);
    if (period.length == 0) return;
    at_ += period.length;
    if (period.digits.empty()) return;
    digits.resize(period.begin);
    if (digits.find('.') == std::string::npos) digits += '.';
    digits += '(' + period.digits + ')';
  }

  void take_command() {
    ++at_;
    if (at_ >= s_.size()) return;
    if (!letter(s_[at_])) return take_escaped(s_[at_++]);
    std::string name;
    while (at_ < s_.size() && letter(s_[at_])) name += s_[at_++];
    if (changes_looks(name)) return take_looks(name);
    if (holds_words(name)) return take_words(name);
    if (name == "begin" || name == "end") return take_environment(name);
    if (name == "mathbb" || name == "mathcal" || name == "mathfrak" || name == "mathscr") return take_alphabet(name);
    add_command(name);
  }

  void take_looks(const std::string& name) {
    space_ = true;
    at_ = skip_spaces(s_, at_);
    if ((name == "left" || name == "right") && at_ < s_.size() && s_[at_] == '.') ++at_;
    if (name == "hspace" && at_ < s_.size() && s_[at_] == '{') at_ = std::min(closing_brace(s_, at_), s_.size());
  }

  void add_command(const std::string& name) {
    const std::string known = known_command(name);
    if (known.size() <= 2 && !letter(known[0]))
      add(TokenKind::kSign, known);
    else
      add(TokenKind::kCommand, known);
  }

  void take_escaped(char c) {
    if (c == '\\') skip_row_gap();
    if (c == '{' || c == '}' || c == '\\') return add(TokenKind::kSign, std::string("\\") + c);
    if (c == '|' || c == '%' || c == '&' || c == '#' || c == '_') return add(TokenKind::kSign, std::string(1, c));
    space_ = true;  // \, \! \; \: \$ \( \) \[ \] and "\ "
  }

  /// Skips the "[4pt]" of "\\[4pt]".
  void skip_row_gap() {
    if (!s_.substr(at_).starts_with('[')) return;
    const size_t unit = std::min(s_.find_first_not_of("-.0123456789 ", at_ + 1), s_.size());
    const bool gap = unit + 2 < s_.size() && unit > at_ + 1 && letter(s_[unit]) && s_[unit + 2] == ']';
    if (gap) at_ = unit + 3;
  }

  void take_words(const std::string& name) {
    size_t begin = skip_spaces(s_, at_);
    if (begin < s_.size() && s_[begin] == '*') ++begin;
    const size_t end = begin < s_.size() && s_[begin] == '{' ? closing_brace(s_, begin) : std::string_view::npos;
    if (end == std::string_view::npos) return;
    const std::string_view inside = s_.substr(begin + 1, end - begin - 2);
    at_ = end;
    const bool after_number = !tokens_.empty() && tokens_.back().kind == TokenKind::kNumber;
    if (after_number && (is_unit_letter(inside) || is_compound_unit(inside)))
      return add(TokenKind::kText, std::string(inside));
    const bool maths = inside.find_first_of("\\^_{") != std::string_view::npos;
    const bool digits = std::any_of(inside.begin(), inside.end(), digit);
    if ((name != "text" && name != "mbox" && maths) || digits) return take_nested(inside);
    if (name[0] != 't' && inside.size() == 1) return add(TokenKind::kLetter, std::string(inside));
    if (is_plain_command(inside)) return add_command(std::string(inside));
    add(TokenKind::kText, std::string(inside));
  }

  void take_environment(const std::string& name) {
    const size_t begin = skip_spaces(s_, at_);
    const size_t end = begin < s_.size() && s_[begin] == '{' ? closing_brace(s_, begin) : std::string_view::npos;
    if (end == std::string_view::npos) throw Unreadable("an environment without a name");
    at_ = end;
    add(TokenKind::kCommand, name + ":" + std::string(s_.substr(begin + 1, end - begin - 2)));
  }

  void take_nested(std::string_view inside) {
    if (++depth_ > kMaxDepth) throw Unreadable("too deep");
    Lexer nested(inside);
    nested.depth_ = depth_;
    std::vector<Token> tokens = nested.run();
    tokens.pop_back();
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
    --depth_;
  }

  void take_alphabet(const std::string& name) {
    at_ = skip_spaces(s_, at_);
    const size_t end = at_ < s_.size() && s_[at_] == '{' ? closing_brace(s_, at_) : std::string_view::npos;
    std::string inside;
    if (end != std::string_view::npos) {
      inside = s_.substr(at_ + 1, end - at_ - 2);
      at_ = end;
    } else if (at_ < s_.size()) {
      inside = s_[at_++];
    }
    add(TokenKind::kCommand, name + inside);
  }

  /// Takes a run of letters: a known word, "and"/"or", a unit after a number, or single letters.
  void take_letters() {
    const size_t begin = at_;
    while (at_ < s_.size() && letter(s_[at_])) ++at_;
    const std::string word(s_.substr(begin, at_ - begin));
    if (word == "and" || word == "or") return add(TokenKind::kText, word);
    if (is_plain_command(word)) return add_command(word);
    if (word == "inf") return add_command("infty");
    const bool is_half_of_day = word == "am" || word == "pm" || word == "AM" || word == "PM";
    const bool after_value =
        space_ && !tokens_.empty() && (tokens_.back().kind == TokenKind::kNumber || tokens_.back().sign("}"));
    if (after_value && word.size() >= 2 &&
        (word.size() >= 3 || is_half_of_day || word == "cm" || word == "mm" || word == "km" || word == "kg" ||
         word == "ft"))
      return add(TokenKind::kText, word);
    for (const char c : word) add(TokenKind::kLetter, std::string(1, c));
  }

  void take_unicode() {
    for (size_t n = 4; n >= 2; --n) {
      const std::string* const found = command_of_character(s_.substr(at_, n));
      if (found == nullptr) continue;
      at_ += n;
      if (found->empty() || *found == " ") return void(space_ = true);
      return add(found->size() == 1 ? TokenKind::kSign : TokenKind::kCommand, *found);
    }
    const size_t from = std::exchange(at_, next_character(s_, at_ + 1));
    add(TokenKind::kLetter, std::string(s_.substr(from, at_ - from)));
  }

  std::string_view s_;
  bool thousands_;
  size_t at_ = 0;
  bool space_ = false;
  int depth_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize_latex(std::string_view text) {
  if (text.size() > kMaxAnswerBytes) throw Unreadable("too long");
  return Lexer(text).run();
}

std::string plain_text(std::string_view text) {
  std::string plain;
  bool number = false;
  for (const Token& token : tokenize_latex(text)) {
    if (number && token.kind == Token::Kind::kNumber) plain += ' ';
    number = token.kind == Token::Kind::kNumber;
    if (token.kind == Token::Kind::kCommand) plain += '\\';
    for (const char c : token.text)
      if (!space(c)) plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  while (!plain.empty() && std::string_view(".,;:").find(plain.back()) != std::string_view::npos) plain.pop_back();
  return plain;
}

}  // namespace roll::math
