// Combines JSON schemas: merges schemas that apply together (allOf, and keywords next to $ref, anyOf and oneOf), and
// tests whether one value can be valid by two schemas (oneOf). Used by json_grammar.cpp.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"

namespace roll {

/// Returns true for keywords without effect on the allowed values: titles, descriptions, definitions.
bool is_schema_note(const std::string& keyword);

/// Returns `schema` without the keyword `key` and without keywords for which is_schema_note().
Json schema_beside(const Json& schema, const std::string& key);

/// Combines schemas that are parts of one schema. Use one object per whole schema: it counts comparisons over all
/// calls, since some schemas would need an unbounded number. Both functions throw std::invalid_argument at the limit.
class SchemaParts {
 public:
  using Resolve = std::function<const Json&(const Json& pointer)>;
  /// `resolve`: returns the schema that the value of a "$ref" names; its exceptions pass through.
  explicit SchemaParts(Resolve resolve) : resolve_(std::move(resolve)) {}

  /// Returns one schema that allows the values which all of `parts` allow. Throws std::invalid_argument if two parts
  /// contradict each other or have keywords that cannot be merged.
  Json all_schemas(const std::vector<Json>& parts);

  /// Returns true if certainly no value is valid by both schemas; false if one may be. Throws as all_schemas() does.
  bool exclude_each_other(const Json& a, const Json& b);

 private:
  void count_comparison();
  Json resolved(Json schema);
  void add(Json& whole, const Json& part);
  void add_properties(Json& whole, const Json& part);
  bool excludes_object(const Json& a, const Json& b);

  Resolve resolve_;
  int num_comparisons_ = 0;
};

/// Returns true if `value` has the JSON schema type `type`, such as "integer".
bool has_schema_type(const Json& value, const std::string& type);

}  // namespace roll
