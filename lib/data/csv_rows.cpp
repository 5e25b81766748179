#include <algorithm>
#include <istream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/json_object.h"
#include "base/utf8.h"
#include "data/text_rows.h"

namespace roll {

namespace {

constexpr size_t kMaxColumns = 2000;
constexpr int kEnd = std::istream::traits_type::eof();

class CsvRows : public RowReader {
 public:
  CsvRows(std::unique_ptr<std::istream> in, const std::string& file, char separator)
      : in_(std::move(in)), file_(file), separator_(separator) {
    if (!read_record()) throw user_error("{}: is empty; the first line of a table names its columns", file_);
    std::set<std::string> distinct;
    for (const auto& field : fields_) {
      const std::string name = field.value_or("");
      if (name.empty()) throw user_error("{}:1: column {} has no name", file_, names_.size() + 1);
      if (!distinct.insert(name).second) throw user_error("{}:1: names the column '{}' twice; rename one", file_, name);
      names_.push_back(name);
    }
    if (names_.size() > kMaxColumns)
      throw user_error("{}:1: names {} columns; at most {} are supported", file_, names_.size(), kMaxColumns);
  }

  bool next(Json& row) override {
    do {
      if (!read_record()) return false;
    } while (fields_.size() == 1 && !fields_[0]);  // a blank line
    if (fields_.size() != names_.size())
      throw BadRow(fmt::format(
          "{}:{}: has {} fields, but the header names {} columns; put fields that contain commas in double quotes",
          file_, number_, fields_.size(), names_.size()));
    row = Json::object();
    for (size_t i = 0; i < names_.size(); ++i)
      add_new(row, names_[i], fields_[i] ? Json(std::move(*fields_[i])) : Json());
    return true;
  }
  int64_t number() const override { return number_; }

 private:
  int peek() { return in_->rdbuf()->sgetc(); }
  int read_char() {
    const int c = in_->rdbuf()->sbumpc();
    line_ += c == '\n';
    if (c != kEnd && ++num_bytes_ > kMaxJsonBytes)
      throw user_error("{}:{}: a row of more than {} MB; is a double quote missing?", file_, number_,
                       kMaxJsonBytes >> 20);
    return c;
  }

  /// Reads a record; false at the end of the file.
  bool read_record() {
    fields_.clear();
    number_ = line_;
    num_bytes_ = 0;
    if (peek() == kEnd) return false;
    bool is_bad = false;
    do {
      fields_.push_back(peek() == '"' ? read_quoted(is_bad) : read_plain());
      if (fields_.back()) is_bad |= has_invalid_utf8(*fields_.back());
    } while (peek() == static_cast<unsigned char>(separator_) && read_char() != kEnd);
    if (peek() == '\r') read_char();
    if (peek() == '\n') read_char();
    if (is_bad) throw BadRow(fmt::format("{}:{}: {}", file_, number_, fault_));
    return true;
  }

  bool ends_field(int c) const {
    return c == kEnd || c == '\n' || c == '\r' || c == static_cast<unsigned char>(separator_);
  }

  std::optional<std::string> read_plain() {
    std::string text;
    while (!ends_field(peek())) text += static_cast<char>(read_char());
    return text.empty() ? std::nullopt : std::optional(std::move(text));
  }

  std::string read_quoted(bool& is_bad) {
    std::string text;
    read_char();
    for (;;) {
      const int c = read_char();
      if (c == kEnd)
        throw user_error("{}:{}: a double quote opens a field, but no double quote closes it", file_, number_);
      if (c != '"') {
        text += static_cast<char>(c);
      } else if (peek() == '"') {
        text += static_cast<char>(read_char());
      } else {
        break;
      }
    }
    if (!ends_field(peek())) {
      is_bad = true;
      fault_ = "text follows the double quote that closes a field; double the quotes within a field";
      while (!ends_field(peek())) read_char();
    }
    return text;
  }

  bool has_invalid_utf8(std::string_view text) {
    for (size_t offset = 0; offset < text.size();) {
      const size_t bytes = character_bytes(text.substr(offset));
      if (bytes == 0) {
        fault_ =
            fmt::format("byte 0x{:02x} is not UTF-8; save the file as UTF-8", static_cast<unsigned char>(text[offset]));
        return true;
      }
      offset += bytes;
    }
    return false;
  }

  std::unique_ptr<std::istream> in_;
  std::string file_, fault_;
  char separator_;
  std::vector<std::string> names_;
  std::vector<std::optional<std::string>> fields_;  // last record; unset: null
  int64_t line_ = 1, number_ = 1;
  size_t num_bytes_ = 0;  // size of the current record
};

}  // namespace

std::unique_ptr<RowReader> read_csv(std::unique_ptr<std::istream> in, const std::string& file, char separator) {
  return std::make_unique<CsvRows>(std::move(in), file, separator);
}

}  // namespace roll
