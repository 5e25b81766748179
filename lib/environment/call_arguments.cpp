#include "environment/call_arguments.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/trim.h"

namespace roll {

namespace {

/// Returns a member; null if it is missing.
const Json& member(const Json& object, const std::string& key) {
  static const Json null;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found == object.end() ? null : *found;
}

/// Returns the function of this name; null if there is none.
const Json& find_function(const Json& tools, const std::string& name) {
  static const Json null;
  for (const Json& tool : tools) {
    const Json& function = tool.is_object() && tool.contains("function") ? tool["function"] : tool;
    if (member(function, "name") == name) return function;
  }
  return null;
}

void add_types(const Json& schema, std::vector<std::string>& types) {
  const Json& declared = member(schema, "type");
  for (const Json& type : declared.is_array() ? declared : Json::array({declared}))
    if (type.is_string()) types.push_back(type);
  for (const char* choices : {"anyOf", "oneOf"})
    for (const Json& choice : member(schema, choices)) add_types(choice, types);
  if (member(schema, "nullable") == true) types.emplace_back("null");
}

std::optional<Json> parse_argument(std::string_view text) {
  try {
    return parse_json(trimmed_text(text), "an argument");
  } catch (const UserError&) {
    return std::nullopt;
  }
}

std::optional<Json> as_number(const Json& value, bool is_whole, std::string_view text) {
  if (!value.is_number_float()) return value.is_number() ? std::optional(value) : std::nullopt;
  const double number = value.get<double>();
  const bool can_be_whole = std::abs(number) < 9e15 && number == std::trunc(number);
  if (can_be_whole && (is_whole || text.find('.') == std::string_view::npos)) return static_cast<int64_t>(number);
  return is_whole ? std::nullopt : std::optional(value);
}

/// Returns the value as this type, if it fits.
std::optional<Json> value_as(const std::string& type, std::string_view text) {
  std::string word(trimmed_text(text));
  if (type == "null" && (word == "null" || word == "None")) return Json();
  if (type == "boolean") {
    std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::tolower(c); });
    if (word == "true" || word == "1") return true;
    if (word == "false" || word == "0") return false;
  }
  const bool is_number = type == "integer" || type == "number", is_nested = type == "object" || type == "array";
  const auto value = is_number || is_nested ? parse_argument(text) : std::nullopt;
  if (!value) return std::nullopt;
  if (is_number) return as_number(*value, type == "integer", text);
  return (type == "object" ? value->is_object() : value->is_array()) ? value : std::nullopt;
}

}  // namespace

Json argument_value(std::string_view text, const std::string& name, const std::string& key, const Json& tools) {
  std::vector<std::string> types;
  add_types(member(member(member(find_function(tools, name), "parameters"), "properties"), key), types);
  for (const std::string& type : types)
    if (auto value = value_as(type, text)) return *std::move(value);
  if (types.empty())
    if (auto value = parse_argument(text); value && !value->is_string()) return *std::move(value);
  return std::string(text);
}

bool may_be_tool(const Json& tools, const std::string& name) {
  return tools.empty() || !find_function(tools, name).is_null();
}

}  // namespace roll
