#include <istream>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/other_format.h"
#include "data/text_rows.h"

namespace roll {

namespace {

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

Json parse_row_text(const std::string& text, const std::string& origin, const char* unit) {
  Json row;
  try {
    row = parse_json(text, origin);
  } catch (const UserError& e) {
    throw BadRow(e.what());
  }
  if (!row.is_object())
    throw BadRow(fmt::format("{}: {} where a JSON object is needed, one per {}", origin, row.type_name(), unit));
  return row;
}

class JsonLines : public RowReader {
 public:
  JsonLines(std::unique_ptr<std::istream> in, const std::string& file, int64_t line)
      : in_(std::move(in)), file_(file), line_(line - 1) {
    if ((has_read_ahead_ = read_line())) refuse_other_format(text_, file_);
  }

  bool next(Json& row) override {
    if (!std::exchange(has_read_ahead_, false) && !read_line()) return false;
    row = parse_row_text(text_, fmt::format("{}:{}", file_, line_), "line");
    return true;
  }
  int64_t number() const override { return line_; }

 private:
  /// Reads the next non-blank line.
  bool read_line() {
    while (next_line(*in_, text_, file_, ++line_))
      if (!is_blank(text_)) return true;
    return false;
  }

  std::unique_ptr<std::istream> in_;
  std::string file_, text_;
  int64_t line_;
  bool has_read_ahead_;  // text_ was read ahead
};

class JsonArray : public RowReader {
 public:
  JsonArray(std::unique_ptr<std::istream> in, const std::string& file) : in_(std::move(in)), file_(file) {}

  bool next(Json& row) override {
    if (is_closed_) return false;
    ++number_;
    read_element();
    if (is_closed_ && number_ == 1 && is_blank(text_)) return false;  // []
    row = parse_row_text(text_, fmt::format("{}: element {}", file_, number_), "element");
    return true;
  }
  int64_t number() const override { return number_; }

 private:
  int read_char() {
    const int c = in_->rdbuf()->sbumpc();
    if (c == std::istream::traits_type::eof())
      throw user_error("{}: ends within element {} of its JSON array; fetch or write the file again", file_, number_);
    return c;
  }

  /// Reads up to and including the next comma or bracket.
  void read_element() {
    text_.clear();
    bool is_string = false;
    for (int depth = 0;;) {
      const int c = read_char();
      if (is_string) {
        is_string = c != '"';
      } else if (c == '"') {
        is_string = true;
      } else if (c == '[' || c == '{') {
        ++depth;
      } else if (depth == 0 && (c == ',' || c == ']')) {
        if (c == ']') close();
        return;
      } else if (c == ']' || c == '}') {
        --depth;
      }
      text_ += static_cast<char>(c);
      if (is_string && c == '\\') text_ += static_cast<char>(read_char());
      if (text_.size() > kMaxJsonBytes)
        throw user_error("{}: element {} has more than {} MB", file_, number_, kMaxJsonBytes >> 20);
    }
  }

  void close() {
    is_closed_ = true;
    for (int c; (c = in_->rdbuf()->sbumpc()) != std::istream::traits_type::eof();)
      if (!is_blank(std::string(1, static_cast<char>(c))))
        throw user_error("{}: text follows the JSON array, after element {}; a file may contain only one array", file_,
                         number_);
  }

  std::unique_ptr<std::istream> in_;
  std::string file_, text_;
  int64_t number_ = 0;
  bool is_closed_ = false;
};

}  // namespace

std::unique_ptr<RowReader> read_json_lines(std::unique_ptr<std::istream> in, const std::string& file, int64_t line) {
  return std::make_unique<JsonLines>(std::move(in), file, line);
}

std::unique_ptr<RowReader> read_json_array(std::unique_ptr<std::istream> in, const std::string& file) {
  return std::make_unique<JsonArray>(std::move(in), file);
}

}  // namespace roll
