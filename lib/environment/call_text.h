// Types for the parsers of tool calls (tool_calls.h): ToolCall, a parsed call, and CallText, a text with a reading
// position.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace roll {

struct ToolCall {
  std::string name;
  std::string arguments;  // text of a JSON object
};

/// A text and the reading position in it. The text must outlive the object.
class CallText {
 public:
  /// `at`: first reading position, in bytes.
  CallText(std::string_view text, size_t at) : text_(text), position_(at) {}
  /// Returns the reading position, in bytes from the beginning of the text.
  size_t at() const { return position_; }
  bool is_at_end() const { return position_ == text_.size(); }
  /// Returns the text from the reading position on.
  std::string_view rest() const { return text_.substr(position_); }
  /// Moves the reading position forward. `bytes`: at most rest().size().
  void move(size_t bytes) { position_ += bytes; }

  /// Moves past spaces, tabs and line ends, if any.
  CallText& skip_blanks() {
    position_ = std::min(text_.find_first_not_of(" \t\r\n", position_), text_.size());
    return *this;
  }
  /// Returns true if `word` begins at the reading position.
  bool sees(std::string_view word) const { return rest().starts_with(word); }
  /// Moves past `word` if it begins at the reading position; returns false without moving if not.
  bool take(std::string_view word) {
    if (!sees(word)) return false;
    position_ += word.size();
    return true;
  }
  /// Returns the text before the next `word` and moves past the word; nullopt, without moving, if there is none.
  std::optional<std::string> up_to(std::string_view word) {
    const size_t end = text_.find(word, position_);
    if (end == std::string_view::npos) return std::nullopt;
    std::string found(text_.substr(position_, end - position_));
    position_ = end + word.size();
    return found;
  }
  /// Returns the text from the reading position up to the next character of kNotInNames, and moves past the text.
  std::string take_name() {
    std::string name(rest().substr(0, rest().find_first_of(kNotInNames)));
    position_ += name.size();
    return name;
  }
  /// Characters that no tool name has.
  static constexpr std::string_view kNotInNames = " \t\r\n<>(){}[]\"'=,;:";

 private:
  std::string_view text_;
  size_t position_;
};

}  // namespace roll
