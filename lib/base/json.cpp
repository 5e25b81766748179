#include "base/json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <istream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/harmless.h"
#include "base/other_format.h"
#include "base/strangers_json.h"
#include "base/utf8.h"

namespace roll {

namespace {

constexpr size_t kShownBytes = 30;

/// Returns true if `origin` is "file:line", so that its text is one line of JSON lines.
bool is_line(const std::string& origin) {
  const size_t digits = origin.find_last_not_of("0123456789") + 1;
  return digits > 0 && digits < origin.size() && origin[digits - 1] == ':';
}

/// Locates a byte of `text` as "file:line:column: rule", or "origin: rule at line L, column C" if it is not one line.
UserError error_at(const std::string& origin, std::string_view text, size_t byte, const std::string& rule,
                   const char* remedy) {
  size_t line = 1, column = 1;
  for (const char c : text.substr(0, byte)) {
    column = c == '\n' ? 1 : column + (begins_character(c) ? 1 : 0);
    line += c == '\n';
  }
  if (is_line(origin)) return user_error("{}:{}: {}; {}", origin, column, rule, remedy);
  return user_error("{}: {} at line {}, column {}; {}", origin, rule, line, column, remedy);
}

size_t first_wrong_byte(std::string_view text) {
  size_t at = 0;
  while (at < text.size() && character_bytes(text.substr(at)) > 0) at += character_bytes(text.substr(at));
  return at;
}

/// `byte`: position where the parser gave up, possibly the end.
UserError not_json(const std::string& origin, std::string_view text, size_t byte) {
  if (const size_t wrong = first_wrong_byte(text); wrong < text.size())
    return error_at(origin, text, wrong,
                    fmt::format("byte 0x{:02x} is no UTF-8", static_cast<unsigned char>(text[wrong])),
                    "save the file as UTF-8");
  if (!is_line(origin)) return error_at(origin, text, byte, "not valid JSON", "repair the file or fetch it again");
  constexpr const char* kRemedy = "write one whole JSON object per line";
  if (byte >= text.size())
    return error_at(origin, text, byte, "the line ends before its JSON object is complete", kRemedy);
  const std::string rest = on_one_line(whole_characters(text.substr(byte), kShownBytes));
  return error_at(origin, text, byte, fmt::format("not valid JSON from here: \"{}\"", rest), kRemedy);
}

/// Scans a text before it is parsed, and refuses it if parsing would cost too much.
class Bounds {
 public:
  Bounds(std::string_view text, const std::string& origin, size_t max_values)
      : text_(text), origin_(origin), max_values_(max_values) {}

  void check() {
    if (text_.size() > kMaxJsonBytes)
      throw user_error("{}: JSON of {} MB; at most {} MB are read", origin_, text_.size() >> 20, kMaxJsonBytes >> 20);
    for (size_t i = 0; i < text_.size(); ++i) {
      const char c = text_[i];
      if (c == '"')
        i = find_string_end(i);
      else if (c == '[' || c == '{')
        open(i);
      else if (c == ',')
        count(i, 1);
      else if ((c == ']' || c == '}') && depth_ > 0)
        --depth_;
    }
  }

 private:
  static constexpr size_t kListCost = 16;  // by the memory that a list takes

  size_t find_string_end(size_t i) {
    while (++i < text_.size() && text_[i] != '"')
      if (text_[i] == '\\') ++i;
    return i;
  }

  void count(size_t i, size_t values) {
    num_values_ += values;
    if (num_values_ > max_values_)
      throw error_at(origin_, text_, i, fmt::format("more than {} values", max_values_), "send less at once");
  }

  void open(size_t i) {
    count(i, kListCost);
    if (++depth_ > kMaxJsonDepth)
      throw error_at(origin_, text_, i, fmt::format("JSON nested more than {} levels deep", kMaxJsonDepth),
                     "flatten it");
  }

  std::string_view text_;
  const std::string& origin_;
  size_t max_values_, num_values_ = 0;
  int depth_ = 0;
};

enum class DuplicateKeys { kLastWins, kRefusedAtTop };

/// Builds a value from parser events. An ordered object compares a new key with all others, so objects with many keys
/// get an index.
template <class J>
class Builder {
 public:
  Builder(const std::string& origin, DuplicateKeys duplicates) : origin_(origin), duplicates_(duplicates) {}
  J take() { return std::move(root_); }

  // ---- called by the parser
  bool null() { return put(nullptr); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(int64_t value) { return put(value); }
  bool number_unsigned(uint64_t value) { return put(value); }
  bool number_float(double value, const std::string&) { return put(value); }
  bool string(std::string& value) { return put(std::move(value)); }
  bool binary(typename J::binary_t&) { return false; }
  bool start_object(size_t) { return open(J::object()); }
  bool start_array(size_t) { return open(J::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    auto& object = open_.back().value->template get_ref<typename J::object_t&>();
    const size_t size = object.size();
    value_ = &find_or_add(object, name);
    if (duplicates_ == DuplicateKeys::kRefusedAtTop && open_.size() == 1 && object.size() == size)
      throw user_error("{}: {}: occurs twice", origin_, name);
    return true;
  }
  template <class E>
  bool parse_error(size_t, const std::string&, const E& error) {
    throw error;
  }

 private:
  struct Open {
    J* value;
    std::map<std::string, size_t> index;  // empty: the object has few keys
  };

  bool put(J value) {
    if (!open_.empty() && open_.back().value->is_array())
      value_ = &open_.back().value->template get_ref<typename J::array_t&>().emplace_back();
    *value_ = std::move(value);
    return true;
  }
  bool open(J value) {
    put(std::move(value));
    open_.push_back({value_, {}});
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }
  J& find_or_add(typename J::object_t& object, const std::string& name) {
    constexpr size_t kFewKeys = 16;
    if constexpr (std::is_same_v<J, Json>) {
      auto& index = open_.back().index;
      if (object.size() >= kFewKeys) {
        for (size_t i = index.size(); i < object.size(); ++i) index.emplace(object.begin()[i].first, i);
        const auto found = index.find(name);
        return found == index.end() ? object.emplace_back(name, J()).second : object.begin()[found->second].second;
      }
    }
    return object[name];
  }

  const std::string& origin_;
  DuplicateKeys duplicates_;
  J root_;
  J* value_ = &root_;  // destination of the next value, except in a list
  std::vector<Open> open_;
};

/// Parses text; nothing else turns text into JSON.
template <class J>
J parse(std::string_view text, const std::string& origin, size_t max_values = SIZE_MAX,
        DuplicateKeys duplicates = DuplicateKeys::kLastWins) {
  Bounds(text, origin, max_values).check();
  try {
    Builder<J> builder(origin, duplicates);
    J::sax_parse(text, &builder);
    return builder.take();
  } catch (const nlohmann::json::parse_error& e) {
    throw not_json(origin, text, std::max<size_t>(e.byte, 1) - 1);
  } catch (const nlohmann::json::out_of_range&) {
    throw user_error("{}: not valid JSON: a number in it is too large for a float64", origin);
  }
}

/// A number that Python writes and JSON lacks, and a JSON string of the same length that replaces it during parsing, so
/// that positions in messages stay right.
struct PythonNumber {
  std::string_view word, placeholder;
  const char* string;
  double value;
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr auto kPythonNumbers = std::to_array<PythonNumber>({
    {"-Infinity", "\"\\u0002\" ", "\x02", -kInfinity},
    {"Infinity", "\"\\u0001\"", "\x01", kInfinity},
    {"NaN", "\"\x7f\"", "\x7f", std::numeric_limits<double>::quiet_NaN()},
});

/// Returns `text` with replacement strings for these words; empty if it has no such word, or has such strings already.
std::string replace_python_numbers(std::string_view text) {
  constexpr auto has = [](std::string_view whole, std::string_view part) { return whole.find(part) != whole.npos; };
  if (!has(text, "Infinity") && !has(text, "NaN")) return {};
  if (has(text, "\\u0001") || has(text, "\\u0002") || has(text, "\x7f")) return {};
  std::string out(text);
  char before = ' ';  // last non-blank character outside strings
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] == '"')
      while (++i < out.size() && out[i] != '"') i += out[i] == '\\';
    if (i >= out.size()) break;  // invalid JSON
    for (const auto& [word, placeholder, string, value] : kPythonNumbers) {
      const bool is_value = before == ':' || before == '[' || before == ',';
      if (!is_value || out.compare(i, word.size(), word) != 0) continue;
      const size_t next = out.find_first_not_of(" \t\r\n", i + word.size());
      if (next == std::string::npos || (out[next] != ',' && out[next] != ']' && out[next] != '}')) continue;
      out.replace(i, word.size(), placeholder);
      i += word.size() - 1;
    }
    if (std::string_view(" \t\r\n").find(out[i]) == std::string_view::npos) before = out[i];
  }
  return out;
}

template <class J>
void restore_python_numbers(J& json) {
  for (const PythonNumber& number : kPythonNumbers)
    if (json == number.string) {
      json = number.value;
      return;
    }
  if (json.is_structured())
    for (J& part : json) restore_python_numbers(part);
}

template <class J>
J parse_python(std::string_view text, const std::string& origin) {
  const std::string replaced = replace_python_numbers(text);
  J json = parse<J>(replaced.empty() ? text : replaced, origin);
  if (!replaced.empty()) restore_python_numbers(json);
  return json;
}

}  // namespace

Json parse_python_json(std::string_view text, const std::string& origin) {
  return parse_python<Json>(text, origin);
}

FileJson parse_python_file_json(std::string_view text, const std::string& origin) {
  return parse_python<FileJson>(text, origin);
}

Json parse_json(std::string_view text, const std::string& origin) {
  return parse<Json>(text, origin);
}

FileJson parse_file_json(std::string_view text, const std::string& origin) {
  return parse<FileJson>(text, origin);
}

Json parse_strangers_json(std::string_view text, const std::string& origin) {
  return parse<Json>(text, origin, kMaxStrangersValues);
}

FileJson parse_unique_json(std::string_view text, const std::string& origin) {
  return parse<FileJson>(text, origin, SIZE_MAX, DuplicateKeys::kRefusedAtTop);
}

Json read_json(const std::filesystem::path& file) {
  return parse_json(read_file(file, kMaxJsonBytes), file.string());
}

FileJson read_file_json(const std::filesystem::path& file) {
  return parse_file_json(read_file(file, kMaxJsonBytes), file.string());
}

bool next_line(std::istream& in, std::string& text, const std::string& origin, int64_t line) {
  text.clear();
  std::array<char, 1 << 14> piece;
  for (;;) {
    in.getline(piece.data(), piece.size());
    if (in.bad()) throw user_error("{}: cannot be read at line {}{}", origin, line, errno_text());
    const bool ended = !in.fail() && !in.eof();  // at a newline, which gcount counts
    text.append(piece.data(), static_cast<size_t>(in.gcount()) - (ended ? 1 : 0));
    if (text.size() > kMaxJsonBytes)
      throw user_error("{}:{}: a line has more than {} MB; is this a file of JSON lines?", origin, line,
                       kMaxJsonBytes >> 20);
    if (ended) return true;
    if (in.eof()) return !text.empty();
    in.clear();  // the piece was full
  }
}

void for_each_json_line(std::istream& in, const std::string& origin,
                        const std::function<void(int64_t line, const Json& value)>& row) {
  std::string text;
  bool is_first = true;
  for (int64_t line = 1; next_line(in, text, origin, line); ++line) {
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
    if (std::exchange(is_first, false)) refuse_other_format(text, origin);
    const std::string location = fmt::format("{}:{}", origin, line);
    const Json value = parse_json(text, location);
    if (!value.is_object())
      throw user_error("{}: {} where a JSON object is needed, one per line", location, value.type_name());
    row(line, value);
  }
}

std::string to_line(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json json_float(double x) {
  if (!std::isfinite(x)) return nullptr;
  return std::strtod(fmt::format("{:.9g}", x).c_str(), nullptr);
}

}  // namespace roll
