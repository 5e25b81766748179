#include "data/columns.h"

#include <nlohmann/json.hpp>

namespace roll {

UserError wrong_column(const std::string& origin, const std::string& key, const Json& value, const char* needed) {
  std::string text = to_line(value);
  if (text.size() > 60) text.replace(57, std::string::npos, "...");
  return user_error("{}: {} = {}: must be {}, not {}", origin, key, text, needed, value.type_name());
}

const Json* column(const Json& line, const std::string& name) {
  const auto found = line.find(name);
  return found == line.end() || found->is_null() ? nullptr : &*found;
}

std::string string_column(const Json& line, const std::string& name, const std::string& origin) {
  const Json* value = column(line, name);
  if (value == nullptr) return "";
  if (!value->is_string()) throw wrong_column(origin, name, *value, "a string");
  return value->get<std::string>();
}

std::string text_column(const Json& line, const std::string& name, const std::string& origin) {
  const Json* value = column(line, name);
  if (value == nullptr) return "";
  if (value->is_number()) return to_line(*value);
  if (!value->is_string()) throw wrong_column(origin, name, *value, "a string or a number");
  return value->get<std::string>();
}

std::string ground_truth_column(const Json& line, const std::string& origin) {
  const Json* value = column(line, "ground_truth");
  return value && value->is_object() ? to_line(*value) : text_column(line, "ground_truth", origin);
}

}  // namespace roll
