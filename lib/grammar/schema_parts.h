// Combines JSON schemas: merges schemas that apply together (allOf, and keywords next to $ref, anyOf and oneOf), and
// tests whether two schemas can both hold (oneOf). Used by json_grammar.cpp.
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

/// Combines schemas that are parts of one schema. Counts its comparisons, since some schemas would need an unbounded
/// number; both functions throw std::invalid_argument at the limit.
class SchemaParts {
 public:
  using Resolve = std::function<const Json&(const Json& pointer)>;
  /// `resolve` returns the schema for the value of a "$ref".
  explicit SchemaParts(Resolve resolve) : resolve_(std::move(resolve)) {}

  /// Returns one schema for the values that every one of `parts` allows. Throws std::invalid_argument if two parts
  /// contradict each other or have keywords that cannot be merged.
  Json all_schemas(const std::vector<Json>& parts);

  /// Returns true if certainly no value is valid by both schemas; false if one may be.
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
