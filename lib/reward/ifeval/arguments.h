// Arguments of an instruction, checked when they are read (instruction.h).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/names.h"

namespace roll::ifeval {

/// Required relation of a count to an instruction's number.
enum class Relation { kLessThan, kAtLeast, kAtMost, kAround };
constexpr auto enum_names(Relation) {
  return std::to_array<Named<Relation>>({{Relation::kLessThan, "less than"},
                                         {Relation::kAtLeast, "at least"},
                                         {Relation::kAtMost, "at most"},
                                         {Relation::kAround, "around"}});
}

/// Returns whether the relation holds. `tolerance`: allowed difference for "around".
bool holds(Relation relation, int64_t count, int64_t number, int64_t tolerance = 0);
/// Returns a tenth of the number, rounded half to even, but at least 1: the tolerance of "around" for words.
int64_t tenth(int64_t number);

/// Typed getters. UserError "key = value: must be ...": the argument is missing, null or of another type.
class Arguments {
 public:
  /// `values`: an object, or null for an instruction without arguments. It must outlive this.
  explicit Arguments(const Json& values) : values_(values) {}

  int64_t whole(const char* key) const;                   // integer >= 0, also as 3.0
  std::string text(const char* key) const;                // not blank; returned without white space at both ends
  std::string exact_text(const char* key) const;          // not empty
  std::string letter(const char* key) const;              // one character
  std::vector<std::string> texts(const char* key) const;  // at least one, none blank
  std::string text_or_first(const char* key) const;       // a text, or the first text of a list
  Relation relation(const char* key) const;

 private:
  const Json& value(const char* key) const;
  const Json& values_;
};

}  // namespace roll::ifeval
