// Scans values with a stack of the open lists and objects.
#include "reward/ifeval/json_text.h"

#include <string>

namespace roll::ifeval {

namespace {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool is_json() {
    while (!is_done_)
      if (!opened() && !value_closed()) return false;
    skip_space();
    return at_ == text_.size();
  }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  bool take(char c) { return take(std::string_view(&c, 1)); }
  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\n\r").find(text_[at_]) != std::string_view::npos) ++at_;
  }

  bool space_and(char c) {
    skip_space();
    return take(c);
  }

  /// Reads the beginning of a non-empty list or object, up to its first value.
  bool opened() {
    skip_space();
    const size_t before = at_;
    const bool is_object = peek() == '{';
    if (!take('[') && !take('{')) return false;
    skip_space();
    const char end = is_object ? '}' : ']';
    if (peek() == end) {
      at_ = before;
      return false;
    }
    open_ += end;
    is_broken_ = is_object && !key();
    return !is_broken_;
  }

  /// Reads a value that opens nothing. Then it reads the ends of all lists and objects that end there, or the comma
  /// before the next value.
  bool value_closed() {
    if (is_broken_ || !scalar()) return false;
    while (!open_.empty()) {
      skip_space();
      if (take(',')) return open_.back() == ']' || key();
      if (!take(open_.back())) return false;
      open_.pop_back();
    }
    return is_done_ = true;
  }

  bool key() {
    skip_space();
    return string() && space_and(':');
  }

  bool scalar() {
    if (take('{')) return space_and('}');
    if (take('[')) return space_and(']');
    return take("true") || take("false") || take("null") || (peek() == '"' ? string() : number());
  }

  bool string() {
    if (!take('"')) return false;
    while (at_ < text_.size()) {
      const auto c = static_cast<unsigned char>(text_[at_++]);
      if (c == '"') return true;
      if (c < 0x20 || (c == '\\' && !escape())) return false;
    }
    return false;
  }

  bool escape() {
    if (take('u')) return hex_digits(4);
    const bool is_known =
        at_ < text_.size() && std::string_view("\"\\/bfnrt").find(text_[at_]) != std::string_view::npos;
    return is_known && ++at_ > 0;
  }

  bool hex_digits(int count) {
    for (int i = 0; i < count; ++i, ++at_)
      if (at_ == text_.size() || std::string_view("0123456789abcdefABCDEF").find(text_[at_]) == std::string_view::npos)
        return false;
    return true;
  }

  bool digits() {
    const size_t begin = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    return at_ > begin;
  }

  bool number() {
    take('-');
    if (!take('0') && !digits()) return false;
    if (take('.') && !digits()) return false;
    if (!take('e') && !take('E')) return true;
    if (!take('+')) take('-');
    return digits();
  }

  std::string_view text_;
  size_t at_ = 0;
  std::string open_;  // closing brackets of the open lists and objects
  bool is_done_ = false, is_broken_ = false;
};

}  // namespace

bool is_json(std::string_view text) {
  return Scanner(text).is_json();
}

}  // namespace roll::ifeval
