#include "base/json.h"

#include <cmath>
#include <cstdlib>
#include <istream>
#include <nlohmann/json.hpp>

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

}  // namespace

Json parse_json(std::string_view text, const std::string& origin) {
  try {
    return Json::parse(text);
  } catch (const nlohmann::json::parse_error& e) {
    throw user_error("{}: not valid JSON at {}; repair or regenerate the file", origin, place(text, e.byte));
  } catch (const nlohmann::json::exception& e) {
    throw user_error("{}: not valid JSON: {}", origin, e.what());
  }
}

Json read_json(const std::filesystem::path& file) {
  return parse_json(read_file(file), file.string());
}

void for_each_json_line(std::istream& in, const std::string& origin,
                        const std::function<void(int64_t line, const Json& value)>& row) {
  std::string text;
  for (int64_t line = 1; std::getline(in, text); ++line) {
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string here = fmt::format("{}:{}", origin, line);
    const Json value = parse_json(text, here);
    if (!value.is_object())
      throw user_error("{}: a {} where a JSON object is needed, one per line", here, value.type_name());
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
