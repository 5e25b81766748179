// Combines JSON schemas: merges schemas that apply together (allOf, and keywords next to $ref, anyOf and oneOf), and
// tests whether two schemas can both hold (oneOf). Used by json_grammar.cpp.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"

namespace roll {

/// Returns true for keywords without effect on values: titles, descriptions, definitions.
bool is_schema_note(const std::string& keyword);

/// Returns `schema` without `key` and keywords without effect.
Json schema_beside(const Json& schema, const std::string& key);

/// Combines parts of one schema and resolves its references. Refuses schemas with too many combinations, which could
/// grow without bound.
class SchemaParts {
 public:
  using Resolve = std::function<const Json&(const Json& pointer)>;
  explicit SchemaParts(Resolve resolve) : resolve_(std::move(resolve)) {}

  /// Returns the schema of values that all `parts` allow. std::invalid_argument: two parts contradict each other,
  /// cannot be merged here, or are too many.
  Json all_schemas(const std::vector<Json>& parts);

  /// Returns true if no value is valid by both; false if one may be.
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

/// Returns true if `value` has the JSON schema type `type`.
bool has_schema_type(const Json& value, const std::string& type);

}  // namespace roll
