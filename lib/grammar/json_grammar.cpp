#include "grammar/json_grammar.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/error.h"
#include "grammar/ebnf.h"
#include "grammar/number_grammar.h"
#include "grammar/pattern.h"
#include "grammar/schema_parts.h"

namespace roll {

namespace {

constexpr size_t kMaxSchemaBytes = 64 << 10, kMaxGrammarBytes = 1 << 20;
constexpr int kMaxDepth = 32;
constexpr int64_t kMaxItems = 1000, kMaxCharacters = 2000;

// "u" excludes surrogates: a single one is no character.
constexpr const char* kBasicRules = R"(ws ::= "" | " " | "\n" [ \t]{0,32}
char ::= plain | "\\" (["\\/bfnrt] | "u" ([0-9a-cefA-CEF] [0-9a-fA-F]{3} | [dD] [0-7] [0-9a-fA-F]{2}))
string ::= "\"" char* "\""
integer ::= "-"? ("0" | [1-9] [0-9]{0,17})
number ::= integer ("." [0-9]{1,17})? ([eE] [+-]? [0-9]{1,2})?
boolean ::= "true" | "false"
pair ::= string ws ":" ws any
object ::= "{" ws (pair (ws "," ws pair)* ws)? "}"
array ::= "[" ws (any (ws "," ws any)* ws)? "]"
any ::= object | array | string | number | boolean | "null"
)";

std::string basic_rules() {
  return fmt::format("plain ::= {}\n{}", ebnf_plain_characters(complement({})), kBasicRules);
}

constexpr std::array kTypes = {"object", "array", "string", "integer", "number", "boolean", "null"};

const std::map<std::string, std::set<std::string>>& keywords() {
  static const std::map<std::string, std::set<std::string>> all = {
      {"object", {"properties", "required", "additionalProperties"}},
      {"array", {"items", "prefixItems", "minItems", "maxItems"}},
      {"string", {"minLength", "maxLength", "pattern", "format"}},
      {"integer", {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "format"}},
      {"number", {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "format"}},
      {"boolean", {}},
      {"null", {}}};
  return all;
}

class SchemaReader {
 public:
  SchemaReader(const Json& root, std::string key)
      : root_(root),
        key_(std::move(key)),
        parts_([this](const Json& pointer) -> const Json& { return find_target(pointer); }) {
    if (to_line(root).size() > kMaxSchemaBytes)
      throw user_error("{}: has more than {} KB", key_, kMaxSchemaBytes >> 10);
  }

  /// Returns all rules; `root` matches a value of the schema between the two texts.
  std::string read(const std::string& opens = "", const std::string& closes = "") {
    std::string root = rule_name(root_, "");
    if (!opens.empty()) root = ebnf_literal(opens) + " " + root;
    if (!closes.empty()) root += " " + ebnf_literal(closes);
    for (size_t i = 0; i < pending_.size(); ++i) {  // grows in the loop
      const std::string pointer = pending_[i];
      add_rule(references_.at(pointer), value(find_target(pointer), pointer));
    }
    return "root ::= " + root + "\n" + rules_ + basic_rules();
  }

 private:
  [[noreturn]] void fail(const std::string& at, const std::string& why) const {
    throw user_error("{}{}: {}", key_, at.empty() ? "" : " at " + at, why);
  }

  void add_rule(const std::string& name, const std::string& body) {
    rules_ += name + " ::= " + body + "\n";
    if (rules_.size() > kMaxGrammarBytes) throw user_error("{}: is too large", key_);
  }
  std::string new_name() { return fmt::format("r{}", ++last_name_); }

  std::string rule_name(const Json& schema, const std::string& at) {
    std::string body = value(schema, at);
    if (body.find(' ') == std::string::npos) return body;
    const std::string name = new_name();
    add_rule(name, body);
    return name;
  }

  std::string value(const Json& schema, const std::string& at) {
    if (++depth_ > kMaxDepth) fail(at, fmt::format("more than {} nested levels", kMaxDepth));
    std::string body = schema.is_boolean() ? boolean_body(schema, at) : object_body(schema, at);
    --depth_;
    return body;
  }

  std::string boolean_body(const Json& schema, const std::string& at) const {
    if (!schema.get<bool>()) fail(at, "false allows nothing");
    return "any";
  }

  std::string object_body(const Json& schema, const std::string& at) {
    if (!schema.is_object()) fail(at, "a schema must be an object, true or false");
    for (const char* key : {"$ref", "anyOf", "allOf", "oneOf"})
      if (schema.contains(key)) return combined_body(key, schema, at);
    for (const char* key : {"const", "enum"})
      if (schema.contains(key)) return values_body(key, schema, at);
    const std::vector<std::string> types = schema_types(schema, at);
    check_keys(schema, types, at);
    std::string body;
    for (const std::string& type : types) body += (body.empty() ? "" : " | ") + type_body(type, schema, at);
    return body;
  }

  void check_keys(const Json& schema, const std::vector<std::string>& types, const std::string& at) const {
    for (const auto& [key, unused] : schema.items()) {
      const auto knows = [&key = key](const std::string& type) { return keywords().at(type).contains(key); };
      if (key == "type" || is_schema_note(key) || std::ranges::any_of(types, knows)) continue;
      if (key == "uniqueItems" && unused == false) continue;
      fail(at, fmt::format("{} is not supported{}", key, types.size() == 1 ? " for type " + types[0] : ""));
    }
  }

  /// Refuses other keywords next to `key`.
  void check_alone(const char* key, const Json& schema, const std::set<std::string>& also,
                   const std::string& at) const {
    for (const auto& [other, unused] : schema.items())
      if (other != key && !is_schema_note(other) && !also.contains(other))
        fail(at, fmt::format("{} beside {} is not supported", other, key));
  }

  /// Combines the schemas under `key` with the keywords next to it.
  std::string combined_body(const std::string& key, const Json& schema, const std::string& at) {
    const Json beside = schema_beside(schema, key);
    const Json& others = schema[key];
    if (key == "$ref") return beside.empty() ? reference(others) : all_body({beside, find_target(others)}, at);
    const std::string key_place = at + "/" + key;
    if (!others.is_array() || others.empty()) fail(key_place, "must be a list of schemas");
    if (key == "allOf") {
      std::vector<Json> parts(others.begin(), others.end());
      parts.push_back(beside);
      return all_body(parts, key_place);
    }
    if (key == "oneOf") check_excluding(others, key_place);
    std::string body;
    for (size_t i = 0; i < others.size(); ++i) {
      const std::string choice_place = fmt::format("{}/{}", key_place, i);
      const Json choice = beside.empty() ? others[i] : joined({beside, others[i]}, choice_place);
      body += (body.empty() ? "" : " | ") + rule_name(choice, choice_place);
    }
    return body;
  }

  /// Runs `combine`; turns std::invalid_argument into a UserError.
  template <class F>
  auto with_parts(const std::string& at, const F& combine) {
    try {
      return combine();
    } catch (const std::invalid_argument& why) {
      fail(at, why.what());
    }
  }
  Json joined(const std::vector<Json>& parts, const std::string& at) {
    return with_parts(at, [&] { return parts_.all_schemas(parts); });
  }
  std::string all_body(const std::vector<Json>& parts, const std::string& at) { return value(joined(parts, at), at); }

  /// oneOf: a grammar cannot count matches, so no value may match two choices.
  void check_excluding(const Json& choices, const std::string& at) {
    for (size_t i = 0; i < choices.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if (!with_parts(at, [&] { return parts_.exclude_each_other(choices[j], choices[i]); }))
          fail(at,
               fmt::format("a value may match both {} and {}; use anyOf, or distinguish them by a required property", j,
                           i));
  }

  std::string reference(const Json& pointer) {
    find_target(pointer);  // throws if the target is missing
    const auto text = pointer.get<std::string>();
    const auto [found, is_new] = references_.try_emplace(text, "");
    if (is_new) {
      found->second = new_name();
      pending_.push_back(text);
    }
    return found->second;
  }

  const Json& find_target(const Json& pointer) const {
    if (!pointer.is_string() || !pointer.get_ref<const std::string&>().starts_with("#"))
      throw user_error("{}: $ref = {}: must be # or #/..., within the schema", key_, to_line(pointer));
    try {
      return root_.at(Json::json_pointer(pointer.get<std::string>().substr(1)));
    } catch (const Json::exception&) {
      throw user_error("{}: $ref = {}: the schema has no such part", key_, to_line(pointer));
    }
  }

  std::string values_body(const char* key, const Json& schema, const std::string& at) {
    check_alone(key, schema, {"type"}, at);
    const Json values = std::string(key) == "const" ? Json::array({schema[key]}) : schema[key];
    if (!values.is_array()) fail(at, "enum must be a list");
    const std::vector<std::string> types = schema_types(schema, at);
    std::string body;
    for (const Json& value : values)
      if (!schema.contains("type") ||
          std::ranges::any_of(types, [&](const auto& type) { return has_schema_type(value, type); }))
        body += (body.empty() ? "" : " | ") + ebnf_literal(to_line(value));
    if (body.empty()) fail(at, fmt::format("{} has no value of its type", key));
    return body;
  }

  /// Returns the types in "type", else the type that its keywords imply, else all.
  std::vector<std::string> schema_types(const Json& schema, const std::string& at) const {
    std::vector<std::string> types;
    if (schema.contains("type")) {
      const Json& given = schema["type"];
      for (const Json& type : given.is_array() ? given : Json::array({given})) {
        if (!type.is_string() || std::ranges::find(kTypes, type.get<std::string>()) == kTypes.end())
          fail(at, fmt::format("type = {}: must be object, array, string, integer, number, boolean or null",
                               to_line(type)));
        types.push_back(type);
      }
      if (types.empty()) fail(at, "type: must not be empty");
      return types;
    }
    for (const char* type : kTypes)
      if (std::ranges::any_of(keywords().at(type),
                              [&](const auto& key) { return key != "format" && schema.contains(key); }))
        return {type};
    return {kTypes.begin(), kTypes.end()};
  }

  std::string type_body(const std::string& type, const Json& schema, const std::string& at) {
    if (type == "object") return properties_body(schema, at);
    if (type == "array") return items_body(schema, at);
    if (type == "string") return string_body(schema, at);
    if (type == "integer" || type == "number") return number_grammar(schema, type == "integer", key_ + " at " + at);
    return type == "null" ? "\"null\"" : "boolean";
  }

  int64_t count(const char* key, const Json& schema, int64_t standard, int64_t most, const std::string& at) const {
    if (!schema.contains(key)) return standard;
    const Json& value = schema[key];
    if (!value.is_number_integer() || value < 0 || value > most)
      fail(at, fmt::format("{} = {}: must be a whole number of 0 to {}", key, to_line(value), most));
    return value.get<int64_t>();
  }

  std::string string_body(const Json& schema, const std::string& at) {
    const bool has_length = schema.contains("minLength") || schema.contains("maxLength");
    if (schema.contains("pattern") + schema.contains("format") + has_length > 1)
      fail(at, "only one of pattern, format and lengths is supported at a time");
    const auto quoted = [](const std::string& body) { return R"(("\"" )" + body + R"( "\""))"; };
    for (const char* key : {"pattern", "format"})
      if (schema.contains(key) && !schema[key].is_string()) fail(at, fmt::format("{} must be a string", key));
    if (schema.contains("pattern"))
      return quoted(pattern_grammar(schema["pattern"].get<std::string>(), key_ + " at " + at));
    if (schema.contains("format")) {
      const std::string pattern = format_pattern(schema["format"].get<std::string>());
      if (pattern.empty())
        fail(at,
             fmt::format("format = {}: is not supported; use date, time, date-time, email, hostname, ipv4, uri or uuid",
                         to_line(schema["format"])));
      return quoted(pattern_grammar(pattern, "format"));
    }
    if (!has_length) return "string";
    const int64_t least = count("minLength", schema, 0, kMaxCharacters, at);
    const int64_t most = count("maxLength", schema, INT64_MAX, INT64_MAX, at);
    if (most < least) fail(at, "maxLength is below minLength");
    // A large bound would cost the grammar one state per character.
    if (most != INT64_MAX && most > kMaxCharacters)
      fail(at, fmt::format("maxLength = {}: at most {}", most, kMaxCharacters));
    return quoted("char" + ebnf_times(least, most == INT64_MAX ? std::nullopt : std::optional(most)));
  }

  std::string items_body(const Json& schema, const std::string& at) {
    const Json prefix = schema.contains("prefixItems") ? schema["prefixItems"] : Json::array();
    if (!prefix.is_array()) fail(at, "prefixItems must be a list of schemas");
    const bool has_more = !schema.contains("items") || schema["items"] != false;
    const int64_t num_first = std::ssize(prefix);
    const int64_t least = std::max<int64_t>(0, count("minItems", schema, 0, kMaxItems, at) - num_first);
    int64_t most = count("maxItems", schema, INT64_MAX, INT64_MAX, at);
    if (most != INT64_MAX && most > kMaxItems) fail(at, fmt::format("maxItems = {}: at most {}", most, kMaxItems));
    if (most != INT64_MAX) most -= num_first;
    if (!has_more) most = std::min<int64_t>(most, 0);
    if (most < least) fail(at, "minItems and maxItems allow no list");
    std::string first;
    for (int64_t i = 0; i < num_first; ++i)
      first += (i == 0 ? "" : R"( ws "," ws )") + rule_name(prefix[i], fmt::format("{}/prefixItems/{}", at, i));
    const std::string item = most == 0                  ? ""
                             : schema.contains("items") ? rule_name(schema["items"], at + "/items")
                                                        : "any";
    return list_body(first, item, least, most);
  }

  /// Returns a list: `first` ("" if none), then `least` to `most` items.
  static std::string list_body(const std::string& first, const std::string& item, int64_t least, int64_t most) {
    const auto more = [&](int64_t taken) {
      const auto up_to = most == INT64_MAX ? std::nullopt : std::optional(most - taken);
      if (up_to == 0) return std::string();
      return fmt::format(R"( (ws "," ws {}){})", item, ebnf_times(std::max<int64_t>(0, least - taken), up_to));
    };
    if (!first.empty()) return fmt::format(R"(("[" ws {}{} ws "]"))", first, more(0));
    if (most == 0) return R"(("[" ws "]"))";
    const std::string items_text = item + more(1) + " ws";
    return R"(("[" ws ()" + items_text + (least > 0 ? R"() "]"))" : R"()? "]"))");
  }

  std::string properties_body(const Json& schema, const std::string& at) {
    const Json properties = schema.contains("properties") ? schema["properties"] : Json::object();
    if (!properties.is_object()) fail(at, "properties must be an object of schemas");
    std::set<std::string> required;
    const Json names = schema.contains("required") ? schema["required"] : Json::array();
    if (!names.is_array()) fail(at, "required must be a list of names");
    for (const Json& name : names) {
      if (!name.is_string() || !properties.contains(name.get<std::string>()))
        fail(at, fmt::format("required: {} is not one of the properties", to_line(name)));
      required.insert(name.get<std::string>());
    }
    if (properties.empty()) return free_properties_body(schema, at);
    // From last to first: `later_properties` follows an earlier property, `first_properties` starts the object.
    std::string later_properties, first_properties;
    for (auto entry = properties.rbegin(); entry != properties.rend(); ++entry) {
      const std::string pair = fmt::format(R"({} ws ":" ws {})", ebnf_literal(to_line(Json(entry.key()))),
                                           rule_name(entry.value(), fmt::format("{}/properties/{}", at, entry.key())));
      const bool is_required = required.contains(entry.key());
      const auto optional_rule = [&](const std::string& with, const std::string& without) {
        const std::string name = new_name();
        add_rule(name, is_required ? with : fmt::format("{} | {}", with, without.empty() ? "\"\"" : without));
        return name;
      };
      const std::string next = later_properties.empty() ? "ws" : later_properties;
      first_properties = optional_rule(fmt::format("{} {}", pair, next), first_properties);
      later_properties = optional_rule(fmt::format(R"(ws "," ws {} {})", pair, next), next);
    }
    return fmt::format(R"(("{{" ws {} "}}"))", first_properties);
  }

  std::string free_properties_body(const Json& schema, const std::string& at) {
    const Json more = schema.contains("additionalProperties") ? schema["additionalProperties"] : Json(true);
    if (more == true) return "object";
    if (more == false) return R"(("{" ws "}"))";
    const std::string pair = R"(string ws ":" ws )" + rule_name(more, at + "/additionalProperties");
    return fmt::format(R"(("{{" ws ({0} (ws "," ws {0})* ws)? "}}"))", pair);
  }

  const Json& root_;
  const std::string key_;
  SchemaParts parts_;
  std::string rules_;
  int last_name_ = 0, depth_ = 0;
  std::map<std::string, std::string> references_;  // pointer -> rule
  std::vector<std::string> pending_;               // pointers in order of first use
};

/// Adjusts the references in `schema` after it moved to `where` in another schema.
void move_references(Json& schema, const std::string& where) {
  for (auto& [key, value] : schema.items()) {
    if (key == "$ref" && value.is_string() && value.get_ref<const std::string&>().starts_with("#"))
      value = where + value.get<std::string>().substr(1);
    else if (value.is_structured())
      move_references(value, where);
  }
}

}  // namespace

std::string object_grammar() {
  return std::string("root ::= object\n") + basic_rules();
}

std::string schema_grammar(const Json& schema, const std::string& key) {
  return SchemaReader(schema, key).read();
}

std::string call_grammar(const Json& tools, const std::string& arguments_key, const std::string& opens,
                         const std::string& closes, const std::string& key) {
  Json calls = Json::array();
  for (const Json& tool : tools) {
    const Json& function = tool.at("function");
    Json parameters = function.contains("parameters") ? function["parameters"] : Json{{"type", "object"}};
    move_references(parameters, fmt::format("#/anyOf/{}/properties/{}", calls.size(), arguments_key));
    calls.push_back(
        {{"type", "object"},
         {"properties", {{"name", {{"const", function.value("name", Json())}}}, {arguments_key, parameters}}},
         {"required", {"name", arguments_key}}});
  }
  const Json schema = {{"anyOf", calls}};
  return SchemaReader(schema, key).read(opens, closes);
}

}  // namespace roll
