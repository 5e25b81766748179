// An instruction's arguments, each checked where it is read.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/names.h"

namespace roll::ifeval {

/// How a count must stand to the number that an instruction names.
enum class Relation { kLessThan, kAtLeast, kAtMost, kAround };
constexpr auto names_of(Relation) {
  return std::to_array<Named<Relation>>({{Relation::kLessThan, "less than"},
                                         {Relation::kAtLeast, "at least"},
                                         {Relation::kAtMost, "at most"},
                                         {Relation::kAround, "around"}});
}

/// `tolerance`: how far "around" reaches.
bool holds(Relation relation, int64_t count, int64_t number, int64_t tolerance = 0);
/// A tenth of the number, rounded half to even, but at least 1: what "around" means for words.
int64_t tenth(int64_t number);

/// Every getter throws UserError "key = value: must be ..." where the argument is missing, null or of another kind.
class Arguments {
 public:
  /// An object, or null where an instruction takes none.
  explicit Arguments(const Json& values) : values_(values) {}

  int64_t whole(const char* key) const;                   // >= 0; 3.0 is one
  std::string text(const char* key) const;                // not blank; without white space at both ends
  std::string exact_text(const char* key) const;          // not empty
  std::string letter(const char* key) const;              // one character
  std::vector<std::string> texts(const char* key) const;  // at least one, none blank
  std::string text_or_first(const char* key) const;       // a text, or the first one of a list
  Relation relation(const char* key) const;

 private:
  const Json& value(const char* key) const;
  const Json& values_;
};

}  // namespace roll::ifeval
