#include "grammar/schema_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

namespace roll {

namespace {

constexpr int kMaxComparisons = 4000;

/// Keywords of bounds; the narrower of two bounds holds.
const std::set<std::string> kLowest = {"minimum", "exclusiveMinimum", "minLength", "minItems"},
                            kHighest = {"maximum", "exclusiveMaximum", "maxLength", "maxItems"};

Json as_list(const Json& value) {
  return value.is_array() ? value : Json::array({value});
}

bool contains(const Json& list, const Json& value) {
  return std::ranges::find(list, value) != list.end();
}

Json common_types(const Json& a, const Json& b) {
  const Json first = as_list(a), second = as_list(b);
  Json both = Json::array();
  for (const Json& type : first)
    if (contains(second, type) || (type == "integer" && contains(second, "number"))) both.push_back(type);
  if (contains(first, "number") && contains(second, "integer") && !contains(both, "integer")) both.push_back("integer");
  return both;
}

/// Returns the values that `schema` lists (const, enum); null if it lists none.
Json listed_values(const Json& schema) {
  if (schema.contains("const")) return Json::array({schema["const"]});
  return schema.contains("enum") && schema["enum"].is_array() ? schema["enum"] : Json();
}

Json common_values(const Json& a, const Json& b) {
  Json both = Json::array();
  for (const Json& value : a)
    if (contains(b, value)) both.push_back(value);
  return both;
}

bool has_any_type(const Json& value, const Json& types) {
  return std::ranges::any_of(as_list(types), [&](const Json& type) {
    return type.is_string() && has_schema_type(value, type.get<std::string>());
  });
}

bool requires_name(const Json& schema, const std::string& name) {
  return schema.contains("required") && schema["required"].is_array() && contains(schema["required"], name);
}

const Json& named_properties(const Json& schema) {
  static const Json kNoProperties = Json::object();
  return schema.contains("properties") && schema["properties"].is_object() ? schema["properties"] : kNoProperties;
}

/// Returns the schema of a property; false: not allowed, true: unrestricted.
Json property_schema(const Json& schema, const std::string& name) {
  const Json& named = named_properties(schema);
  if (named.contains(name)) return named[name];
  return schema.contains("additionalProperties") ? schema["additionalProperties"] : Json(true);
}

/// Returns the property names of both in output order.
std::vector<std::string> merged_names(const Json& a, const Json& b) {
  std::vector<std::string> names;
  for (const auto& [name, unused] : named_properties(a).items()) names.push_back(name);
  for (const auto& [name, unused] : named_properties(b).items())
    if (!named_properties(a).contains(name)) names.push_back(name);
  return names;
}

void check_forms(const Json& schema) {
  if (schema.contains("properties") && !schema["properties"].is_object())
    throw std::invalid_argument("properties must be an object of schemas");
  for (const char* key : {"required", "enum"})
    if (schema.contains(key) && !schema[key].is_array())
      throw std::invalid_argument(fmt::format("{} must be a list", key));
}

Json conjunction(const Json& a, const Json& b) {
  if (a == true || a == b) return b;
  if (b == true) return a;
  return a == false || b == false ? Json(false) : Json{{"allOf", Json::array({a, b})}};
}

[[noreturn]] void fail_contradiction(const std::string& keyword) {
  throw std::invalid_argument(fmt::format("its parts contradict each other on {}, so no value is valid", keyword));
}

Json common_keyword(const std::string& keyword, const Json& a, const Json& b) {
  if (a == b) return a;
  if (keyword == "type") return common_types(a, b);
  if (keyword == "items") return conjunction(a, b);
  if (a.is_number() && b.is_number() && kLowest.contains(keyword)) return std::max(a, b);
  if (a.is_number() && b.is_number() && kHighest.contains(keyword)) return std::min(a, b);
  throw std::invalid_argument(fmt::format("two parts have different values of {}, which cannot be combined", keyword));
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

void SchemaParts::count_comparison() {
  if (++num_comparisons_ > kMaxComparisons)
    throw std::invalid_argument(fmt::format("more than {} comparisons of its parts", kMaxComparisons));
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
    count_comparison();
    const Json part_schema = resolved(part);
    if (part_schema == true) continue;
    if (!part_schema.is_object()) throw std::invalid_argument("each part must be a schema that allows something");
    add(whole, part_schema);
  }
  return whole;
}

void SchemaParts::add(Json& whole, const Json& part) {
  check_forms(part);
  add_properties(whole, part);
  const Json first = listed_values(whole), second = listed_values(part);
  for (const auto& [keyword, value] : part.items()) {
    const bool is_added = keyword == "properties" || keyword == "required" || keyword == "additionalProperties" ||
                          keyword == "const" || keyword == "enum";
    if (is_added || is_schema_note(keyword)) continue;
    whole[keyword] = whole.contains(keyword) ? common_keyword(keyword, whole[keyword], value) : value;
    if (keyword == "type" && whole[keyword].empty()) fail_contradiction(keyword);
  }
  if (second.is_null()) return;
  whole.erase("const");
  whole["enum"] = first.is_null() ? second : common_values(first, second);
  if (whole["enum"].empty()) fail_contradiction("values");
}

void SchemaParts::add_properties(Json& whole, const Json& part) {
  Json names = Json::object(), needed = Json::array();
  for (const std::string& name : merged_names(whole, part)) {
    const Json rule = conjunction(property_schema(whole, name), property_schema(part, name));
    if (rule != false)
      names[name] = rule;
    else if (requires_name(whole, name) || requires_name(part, name))
      fail_contradiction(name);
  }
  for (const Json* schema : {static_cast<const Json*>(&whole), &part})
    if (schema->contains("required"))
      for (const Json& name : (*schema)["required"])
        if (!contains(needed, name)) needed.push_back(name);
  const auto additional = [](const Json& schema) {
    return schema.contains("additionalProperties") ? schema["additionalProperties"] : Json(true);
  };
  const Json others = conjunction(additional(whole), additional(part));
  if (!names.empty()) whole["properties"] = names;
  if (!needed.empty()) whole["required"] = needed;
  if (others != true) whole["additionalProperties"] = others;
}

bool SchemaParts::exclude_each_other(const Json& first, const Json& second) {
  count_comparison();
  const Json a = resolved(first), b = resolved(second);
  if (!a.is_object() || !b.is_object()) return a == false || b == false;
  const std::pair<const Json*, const Json*> orders[] = {{&a, &b}, {&b, &a}};
  for (const char* key : {"anyOf", "oneOf"})
    for (const auto& order : orders)
      if (order.first->contains(key))
        return std::ranges::all_of((*order.first)[key],
                                   [&](const Json& choice) { return exclude_each_other(choice, *order.second); });
  const Json values = listed_values(a), others = listed_values(b);
  if (!values.is_null() && !others.is_null()) return common_values(values, others).empty();
  for (const auto& order : orders)
    if (const Json listed = listed_values(*order.first); !listed.is_null() && order.second->contains("type"))
      return std::ranges::none_of(listed,
                                  [&](const Json& value) { return has_any_type(value, (*order.second)["type"]); });
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
           exclude_each_other(property_schema(a, name), property_schema(b, name));
  });
}

}  // namespace roll
