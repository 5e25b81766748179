// JSON schemas made of others: of several that hold together (allOf, and what stands beside $ref, anyOf and oneOf) one
// schema is made, and of several it is found out whether two can hold at once (oneOf).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"

namespace roll {

/// True of keywords that say nothing of a value: a title, a description, schemas to refer to.
bool is_schema_note(const std::string& keyword);

/// `schema` without such keywords and without `key`.
Json schema_beside(const Json& schema, const std::string& key);

/// The parts of one schema, which resolves references. A schema whose parts meet too often is refused: parts of parts
/// grow without bounds.
class SchemaParts {
 public:
  using Resolve = std::function<const Json&(const Json& pointer)>;
  explicit SchemaParts(Resolve resolve) : resolve_(std::move(resolve)) {}

  /// The schema of the values that all of `parts` allow. std::invalid_argument: two say of a keyword what has no common
  /// form here, or no value is left.
  Json all_of(const std::vector<Json>& parts);

  /// True where no value can be valid by both; false where that is not seen.
  bool exclude_each_other(const Json& a, const Json& b);

 private:
  void count_one();
  Json resolved(Json schema);
  void add(Json& whole, const Json& part);
  void add_properties(Json& whole, const Json& part);
  bool excludes_object(const Json& a, const Json& b);

  Resolve resolve_;
  int num_meetings_ = 0;
};

/// True where `value` is of that type of JSON schema.
bool has_schema_type(const Json& value, const std::string& type);

}  // namespace roll
