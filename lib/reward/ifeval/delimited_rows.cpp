#include "reward/ifeval/delimited_rows.h"

#include <utility>

namespace roll::ifeval {

namespace {

constexpr size_t kMostBytes = 131072;  // per field; Python's csv.field_size_limit() counts characters

enum class State { kRowStart, kFieldStart, kPlain, kQuoted, kQuoteInQuoted, kAfterReturn };

/// Parses one line at a time.
class RowParser {
 public:
  explicit RowParser(char delimiter) : delimiter_(delimiter) {}

  /// Parses a line with its newline; returns false on an error.
  bool take(std::string_view line) {
    for (const char c : line)
      if (!take_char(c)) return false;
    end_line();
    return field_.size() <= kMostBytes;
  }

  /// Ends the text; an open quoted field ends there.
  void finish() {
    if (state_ != State::kRowStart) end_row();
  }

  std::vector<std::vector<std::string>> rows;

 private:
  bool take_char(char c) {
    const bool is_end = c == '\n' || c == '\r';
    switch (state_) {
      case State::kAfterReturn:
        return is_end;
      case State::kRowStart:
      case State::kFieldStart:
        if (is_end && state_ == State::kRowStart)
          state_ = State::kAfterReturn;
        else if (is_end)
          end_field(State::kAfterReturn);
        else if (c == '"')
          state_ = State::kQuoted;
        else
          take_plain(c);
        return true;
      case State::kPlain:
        is_end ? end_field(State::kAfterReturn) : take_plain(c);
        return true;
      case State::kQuoted:
        if (c == '"')
          state_ = State::kQuoteInQuoted;
        else
          field_ += c;
        return true;
      case State::kQuoteInQuoted:
        if (is_end) {
          end_field(State::kAfterReturn);
        } else if (c == '"') {
          field_ += c;
          state_ = State::kQuoted;
        } else {
          take_plain(c);
        }
        return true;
    }
    return true;
  }

  void take_plain(char c) {
    if (c == delimiter_) return end_field(State::kFieldStart);
    field_ += c;
    state_ = State::kPlain;
  }

  void end_field(State next) {
    row_.push_back(std::exchange(field_, ""));
    state_ = next;
  }

  void end_line() {
    if (state_ == State::kQuoted) return;  // the field continues on the next line
    if (state_ == State::kRowStart || state_ == State::kAfterReturn) {
      rows.push_back(std::exchange(row_, {}));
      state_ = State::kRowStart;
    } else {
      end_row();
    }
  }

  void end_row() {
    end_field(State::kRowStart);
    rows.push_back(std::exchange(row_, {}));
  }

  char delimiter_;
  State state_ = State::kRowStart;
  std::string field_;
  std::vector<std::string> row_;
};

}  // namespace

std::optional<std::vector<std::vector<std::string>>> delimited_rows(std::string_view text, char delimiter) {
  RowParser parser(delimiter);
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const size_t size = end == std::string_view::npos ? text.size() : end + 1;
    if (!parser.take(text.substr(0, size))) return std::nullopt;
    text.remove_prefix(size);
  }
  parser.finish();
  return std::move(parser.rows);
}

}  // namespace roll::ifeval
