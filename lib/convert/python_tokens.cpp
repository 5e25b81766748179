#include "convert/python_tokens.h"

#include <algorithm>
#include <array>

#include "shell/names.h"

namespace roll {

namespace {

using Kind = PythonToken::Kind;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

class PythonLexer {
 public:
  explicit PythonLexer(std::string_view text) : text_(text) {}

  std::vector<PythonToken> tokenize() {
    while (at_ < text_.size()) read_token();
    return std::move(tokens_);
  }

 private:
  void read_token() {
    const char c = text_[at_];
    if (c == '\n') {
      ++line_;
      ++at_;
      is_first_ = is_first_ || brackets_ == 0;
    } else if (c == '\\' && text_.substr(at_ + 1, 1) == "\n") {
      ++line_;
      at_ += 2;
    } else if (c == '#')
      at_ = std::min(text_.find('\n', at_), text_.size());
    else if (shell::is_blank(c))
      ++at_;
    else if (c == '"' || c == '\'')
      quoted(false, false);
    else if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1])))
      number();
    else if (shell::is_name_char(c))
      name();
    else
      sign();
  }
  void add(Kind kind, std::string text, int line, bool is_format = false) {
    tokens_.push_back({kind, std::move(text), line, is_first_, is_format});
    is_first_ = false;
  }
  void number() {
    const size_t begin = at_;
    while (at_ < text_.size() &&
           (shell::is_name_char(text_[at_]) || text_[at_] == '.' ||
            ((text_[at_] == '-' || text_[at_] == '+') && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E'))))
      ++at_;
    std::string digits(text_.substr(begin, at_ - begin));
    std::erase(digits, '_');
    add(Kind::kNumber, digits, line_);
  }
  void name() {
    const size_t begin = at_;
    while (at_ < text_.size() && shell::is_name_char(text_[at_])) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    const bool opens_text = at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'');
    if (opens_text && word.size() <= 2 && word.find_first_not_of("rRbBfFuU") == word.npos)
      return quoted(word.find_first_of("fF") != word.npos, word.find_first_of("rR") != word.npos);
    add(Kind::kName, std::string(word), line_);
  }
  void quoted(bool is_format, bool is_raw) {
    const int begin = line_;
    const std::string_view one = text_.substr(at_, 1), three = text_.substr(at_, 3);
    const bool is_long = three.size() == 3 && three[1] == one[0] && three[2] == one[0];
    const std::string_view quote = is_long ? three : one;
    std::string text;
    for (at_ += quote.size(); at_ < text_.size() && text_.substr(at_, quote.size()) != quote; ++at_) {
      if (text_[at_] == '\n') ++line_;
      if (text_[at_] != '\\' || is_raw || at_ + 1 == text_.size()) {
        text += text_[at_];
        continue;
      }
      const char c = text_[++at_];
      if (c == '\n') ++line_;
      // Keep a continued line as it is: the text may be a shell command.
      text += c == 'n' ? "\n" : c == 't' ? "\t" : c == '\n' ? "\\\n" : std::string(1, c);
    }
    at_ = std::min(at_ + quote.size(), text_.size());
    add(Kind::kText, std::move(text), begin, is_format);
  }
  void sign() {
    static constexpr std::array<std::string_view, 6> kLongSigns{"**", "//", "==", "!=", "<=", ">="};
    const auto found = std::ranges::find(kLongSigns, text_.substr(at_, 2));
    const std::string text(found == kLongSigns.end() ? text_.substr(at_, 1) : *found);
    brackets_ += text == "(" || text == "[" || text == "{" ? 1 : 0;
    brackets_ -= brackets_ > 0 && (text == ")" || text == "]" || text == "}") ? 1 : 0;
    at_ += text.size();
    add(Kind::kSign, text, line_);
  }

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1, brackets_ = 0;
  bool is_first_ = true;
  std::vector<PythonToken> tokens_;
};

}  // namespace

std::vector<PythonToken> python_tokens(std::string_view text) {
  return PythonLexer(text).tokenize();
}

}  // namespace roll
