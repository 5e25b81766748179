#include "config/writer.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "config/interpolation.h"
#include "config/scalar.h"

namespace roll {

namespace {

bool is_plain_safe(const std::string& text) {
  if (is_null_word(text) || parse_bool(text) || parse_number(text)) return false;
  const auto safe = [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '/' || c == '.' || c == '-' || c == '+';
  };
  return (std::isalpha(static_cast<unsigned char>(text[0])) || text[0] == '/' || text[0] == '.') &&
         std::all_of(text.begin(), text.end(), safe);
}

}  // namespace

std::string yaml_text(const std::string& text) {
  if (is_plain_safe(text)) return text;
  return quoted_yaml(escaped_interpolations(text));
}

std::string quoted_yaml(const std::string& text) {
  return to_line(Json(text));  // JSON's escapes are YAML's
}

std::string yaml_number(double value) {
  if (std::isnan(value)) return ".nan";
  if (std::isinf(value)) return value > 0 ? ".inf" : "-.inf";
  return fmt::format("{}", value);
}

void YamlWriter::line(const std::string& key, const std::string& value) {
  text_ += fmt::format("{:{}}{}: {}\n", "", indent_, key, value);
}

void YamlWriter::group(const std::string& key, const std::string& inner) {
  text_ += inner.empty() ? fmt::format("{:{}}{}: {{}}\n", "", indent_, key)
                         : fmt::format("{:{}}{}:\n{}", "", indent_, key, inner);
}

}  // namespace roll
