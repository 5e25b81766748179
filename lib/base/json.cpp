#include "base/json.h"

#include <array>
#include <cmath>
#include <cstdlib>
#include <istream>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace roll {

namespace {

/// "line L, column C" of a byte offset in `text`.
std::string place(std::string_view text, size_t byte) {
  size_t line = 1, column = 1;
  for (size_t i = 0; i + 1 < byte && i < text.size(); ++i) {
    column = text[i] == '\n' ? 1 : column + 1;
    line += text[i] == '\n';
  }
  return fmt::format("line {}, column {}", line, column);
}

/// Reads over a text before it is parsed, and refuses what would cost too much.
class Bounds {
 public:
  Bounds(std::string_view text, const std::string& origin, bool ordered)
      : text_(text), origin_(origin), ordered_(ordered) {}

  void check() {
    if (text_.size() > kMaxJsonBytes)
      throw user_error("{}: JSON of {} MB; at most {} MB are read", origin_, text_.size() >> 20, kMaxJsonBytes >> 20);
    for (size_t i = 0; i < text_.size(); ++i) {
      const char c = text_[i];
      if (c == '"')
        i = end_of_string(i);
      else if (c == ':' && !open_.empty())
        key(i);
      else if (c == '[' || c == '{')
        open(i);
      else if ((c == ']' || c == '}') && !open_.empty())
        open_.pop_back();
    }
  }

 private:
  struct Open {
    size_t keys = 0, key_bytes = 0;  // of an object
  };

  static constexpr size_t kMaxCompared = 5'000'000'000;

  size_t end_of_string(size_t i) {
    const size_t begin = i;
    while (++i < text_.size() && text_[i] != '"')
      if (text_[i] == '\\') ++i;
    string_bytes_ = i - begin;
    return i;
  }

  void open(size_t i) {
    open_.emplace_back();
    if (open_.size() > kMaxJsonDepth)
      throw user_error("{}: JSON nested more than {} levels deep at {}; flatten it", origin_, kMaxJsonDepth,
                       place(text_, i + 1));
  }

  /// An ordered object compares each key with all before it, which costs at most their bytes.
  void key(size_t i) {
    Open& object = open_.back();
    if (ordered_) compared_ += object.key_bytes;
    ++object.keys, object.key_bytes += string_bytes_;
    if (compared_ > kMaxCompared)
      throw user_error("{}: a JSON object with {} keys before {}, too many to look up; use a list", origin_,
                       object.keys, place(text_, i + 1));
  }

  std::string_view text_;
  const std::string& origin_;
  bool ordered_;
  std::vector<Open> open_;
  size_t string_bytes_ = 0;  // of the last one
  size_t compared_ = 0;
};

/// The only place where text becomes JSON.
template <class J>
J parse(std::string_view text, const std::string& origin, const typename J::parser_callback_t& see = nullptr) {
  Bounds(text, origin, std::is_same_v<J, Json>).check();
  try {
    return J::parse(text, see);
  } catch (const nlohmann::json::parse_error& e) {
    throw user_error("{}: not valid JSON at {}; repair the file or fetch it again", origin, place(text, e.byte));
  } catch (const nlohmann::json::out_of_range&) {
    throw user_error("{}: not valid JSON: a number in it is too large for a float64", origin);
  }
}

}  // namespace

Json parse_json(std::string_view text, const std::string& origin) {
  return parse<Json>(text, origin);
}

FileJson parse_file_json(std::string_view text, const std::string& origin) {
  return parse<FileJson>(text, origin);
}

FileJson parse_unique_json(std::string_view text, const std::string& origin) {
  std::set<std::string> seen;
  std::string twice;
  const auto note_keys = [&](int depth, FileJson::parse_event_t event, FileJson& key) {
    if (event == FileJson::parse_event_t::key && depth == 1 && !seen.insert(key.get<std::string>()).second)
      twice = key.get<std::string>();
    return true;
  };
  FileJson json = parse<FileJson>(text, origin, note_keys);
  if (!twice.empty()) throw user_error("{}: {}: is there twice", origin, twice);
  return json;
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
    const bool ended = !in.fail() && !in.eof();  // by a newline, which gcount counts
    text.append(piece.data(), static_cast<size_t>(in.gcount()) - (ended ? 1 : 0));
    if (text.size() > kMaxJsonBytes)
      throw user_error("{}:{}: a line of more than {} MB; is it JSON lines?", origin, line, kMaxJsonBytes >> 20);
    if (ended) return true;
    if (in.eof()) return !text.empty();
    in.clear();  // the piece was full
  }
}

void for_each_json_line(std::istream& in, const std::string& origin,
                        const std::function<void(int64_t line, const Json& value)>& row) {
  std::string text;
  for (int64_t line = 1; next_line(in, text, origin, line); ++line) {
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string here = fmt::format("{}:{}", origin, line);
    const Json value = parse_json(text, here);
    if (!value.is_object())
      throw user_error("{}: {} where a JSON object is needed, one per line", here, value.type_name());
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
