#include "grammar/schema_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

namespace roll {

namespace {

constexpr int kMostMeetings = 4000;

/// Keywords of bounds; the narrower of two bounds holds.
const std::set<std::string> kLowest = {"minimum", "exclusiveMinimum", "minLength", "minItems"},
                            kHighest = {"maximum", "exclusiveMaximum", "maxLength", "maxItems"};

Json list_of(const Json& value) {
  return value.is_array() ? value : Json::array({value});
}

bool contains(const Json& list, const Json& value) {
  return std::ranges::find(list, value) != list.end();
}

Json common_types(const Json& a, const Json& b) {
  const Json first = list_of(a), second = list_of(b);
  Json both = Json::array();
  for (const Json& type : first)
    if (contains(second, type) || (type == "integer" && contains(second, "number"))) both.push_back(type);
  if (contains(first, "number") && contains(second, "integer") && !contains(both, "integer")) both.push_back("integer");
  return both;
}

/// Returns the values that `schema` lists (const, enum); null if it lists none.
Json values_of(const Json& schema) {
  if (schema.contains("const")) return Json::array({schema["const"]});
  return schema.contains("enum") && schema["enum"].is_array() ? schema["enum"] : Json();
}

Json common_values(const Json& a, const Json& b) {
  Json both = Json::array();
  for (const Json& value : a)
    if (contains(b, value)) both.push_back(value);
  return both;
}

bool is_of_a_type(const Json& value, const Json& types) {
  return std::ranges::any_of(list_of(types), [&](const Json& type) {
    return type.is_string() && has_schema_type(value, type.get<std::string>());
  });
}

bool requires_name(const Json& schema, const std::string& name) {
  return schema.contains("required") && schema["required"].is_array() && contains(schema["required"], name);
}

const Json& properties_of(const Json& schema) {
  static const Json none = Json::object();
  return schema.contains("properties") && schema["properties"].is_object() ? schema["properties"] : none;
}

/// Returns the schema of a property; false: not allowed, true: unrestricted.
Json rule_of_property(const Json& schema, const std::string& name) {
  const Json& named = properties_of(schema);
  if (named.contains(name)) return named[name];
  return schema.contains("additionalProperties") ? schema["additionalProperties"] : Json(true);
}

/// Returns the property names of both in output order.
std::vector<std::string> merged_names(const Json& a, const Json& b) {
  std::vector<std::string> names;
  for (const auto& [name, unused] : properties_of(a).items()) names.push_back(name);
  for (const auto& [name, unused] : properties_of(b).items())
    if (!properties_of(a).contains(name)) names.push_back(name);
  return names;
}

void check_forms(const Json& schema) {
  if (schema.contains("properties") && !schema["properties"].is_object())
    throw std::invalid_argument("properties must be an object of schemas");
  for (const char* key : {"required", "enum"})
    if (schema.contains(key) && !schema[key].is_array())
      throw std::invalid_argument(fmt::format("{} must be a list", key));
}

Json both_of(const Json& a, const Json& b) {
  if (a == true || a == b) return b;
  if (b == true) return a;
  return a == false || b == false ? Json(false) : Json{{"allOf", Json::array({a, b})}};
}

[[noreturn]] void nothing_left(const std::string& keyword) {
  throw std::invalid_argument(fmt::format("what its parts say of {} leaves nothing", keyword));
}

Json common(const std::string& keyword, const Json& a, const Json& b) {
  if (a == b) return a;
  if (keyword == "type") return common_types(a, b);
  if (keyword == "items") return both_of(a, b);
  if (a.is_number() && b.is_number() && kLowest.contains(keyword)) return std::max(a, b);
  if (a.is_number() && b.is_number() && kHighest.contains(keyword)) return std::min(a, b);
  throw std::invalid_argument(fmt::format("two parts say {} differently, which has no common form here", keyword));
}

}  // namespace

bool is_schema_note(const std::string& keyword) {
  static const std::set<std::string> notes = {"title",     "description", "default",    "examples",   "example",
                                              "$schema",   "$id",         "$comment",   "deprecated", "readOnly",
                                              "writeOnly", "$defs",       "definitions"};
  return notes.contains(keyword);
}

Json schema_beside(const Json& schema, const std::string& key) {
  Json rest = Json::object();
  for (const auto& [keyword, value] : schema.items())
    if (keyword != key && !is_schema_note(keyword)) rest[keyword] = value;
  return rest;
}

bool has_schema_type(const Json& value, const std::string& type) {
  if (type == "integer") return value.is_number_integer();
  if (type == "null") return value.is_null();
  return type == "object"    ? value.is_object()
         : type == "array"   ? value.is_array()
         : type == "string"  ? value.is_string()
         : type == "boolean" ? value.is_boolean()
                             : value.is_number();
}

void SchemaParts::count_one() {
  if (++num_meetings_ > kMostMeetings)
    throw std::invalid_argument(fmt::format("more than {} parts meet each other", kMostMeetings));
}

Json SchemaParts::resolved(Json schema) {
  while (schema.is_object() && (schema.contains("$ref") || schema.contains("allOf"))) {
    const char* const key = schema.contains("$ref") ? "$ref" : "allOf";
    std::vector<Json> parts = {schema_beside(schema, key)};
    if (key == std::string("$ref"))
      parts.push_back(resolve_(schema[key]));
    else
      parts.insert(parts.end(), schema[key].begin(), schema[key].end());
    if (std::ranges::all_of(parts, [](const Json& part) { return part.is_object() && part.empty(); })) return true;
    schema = all_schemas(parts);
  }
  return schema;
}

Json SchemaParts::all_schemas(const std::vector<Json>& parts) {
  Json whole = Json::object();
  for (const Json& part : parts) {
    count_one();
    const Json one = resolved(part);
    if (one == true) continue;
    if (!one.is_object()) throw std::invalid_argument("each part must be a schema that allows something");
    add(whole, one);
  }
  return whole;
}

void SchemaParts::add(Json& whole, const Json& part) {
  check_forms(part);
  add_properties(whole, part);
  const Json first = values_of(whole), second = values_of(part);
  for (const auto& [keyword, value] : part.items()) {
    const bool is_added = keyword == "properties" || keyword == "required" || keyword == "additionalProperties" ||
                          keyword == "const" || keyword == "enum";
    if (is_added || is_schema_note(keyword)) continue;
    whole[keyword] = whole.contains(keyword) ? common(keyword, whole[keyword], value) : value;
    if (keyword == "type" && whole[keyword].empty()) nothing_left(keyword);
  }
  if (second.is_null()) return;
  whole.erase("const");
  whole["enum"] = first.is_null() ? second : common_values(first, second);
  if (whole["enum"].empty()) nothing_left("values");
}

void SchemaParts::add_properties(Json& whole, const Json& part) {
  Json names = Json::object(), needed = Json::array();
  for (const std::string& name : merged_names(whole, part)) {
    const Json rule = both_of(rule_of_property(whole, name), rule_of_property(part, name));
    if (rule != false)
      names[name] = rule;
    else if (requires_name(whole, name) || requires_name(part, name))
      nothing_left(name);
  }
  for (const Json* schema : {static_cast<const Json*>(&whole), &part})
    if (schema->contains("required"))
      for (const Json& name : (*schema)["required"])
        if (!contains(needed, name)) needed.push_back(name);
  const auto more = [](const Json& schema) {
    return schema.contains("additionalProperties") ? schema["additionalProperties"] : Json(true);
  };
  const Json others = both_of(more(whole), more(part));
  if (!names.empty()) whole["properties"] = names;
  if (!needed.empty()) whole["required"] = needed;
  if (others != true) whole["additionalProperties"] = others;
}

bool SchemaParts::exclude_each_other(const Json& first, const Json& second) {
  count_one();
  const Json a = resolved(first), b = resolved(second);
  if (!a.is_object() || !b.is_object()) return a == false || b == false;
  const std::pair<const Json*, const Json*> both_ways[] = {{&a, &b}, {&b, &a}};
  for (const char* key : {"anyOf", "oneOf"})
    for (const auto& way : both_ways)
      if (way.first->contains(key))
        return std::ranges::all_of((*way.first)[key],
                                   [&](const Json& choice) { return exclude_each_other(choice, *way.second); });
  const Json values = values_of(a), others = values_of(b);
  if (!values.is_null() && !others.is_null()) return common_values(values, others).empty();
  for (const auto& way : both_ways)
    if (const Json listed = values_of(*way.first); !listed.is_null() && way.second->contains("type"))
      return std::ranges::none_of(listed,
                                  [&](const Json& value) { return is_of_a_type(value, (*way.second)["type"]); });
  if (a.contains("type") && b.contains("type") && common_types(a["type"], b["type"]).empty()) return true;
  return excludes_object(a, b);
}

/// Two objects exclude each other if a required property does: its schemas conflict, or one side forbids it.
bool SchemaParts::excludes_object(const Json& a, const Json& b) {
  const auto is_object = [](const Json& schema) {
    return schema.contains("type") ? schema["type"] == "object" : schema.contains("properties");
  };
  if (!is_object(a) || !is_object(b)) return false;
  return std::ranges::any_of(merged_names(a, b), [&](const std::string& name) {
    return (requires_name(a, name) || requires_name(b, name)) &&
           exclude_each_other(rule_of_property(a, name), rule_of_property(b, name));
  });
}

}  // namespace roll
