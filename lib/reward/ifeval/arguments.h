// Reads the arguments of an ifeval instruction, such as the number of sentences that it demands. The functions of
// InstructionKind (instruction.h) read the arguments that they need, and each is checked then.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/names.h"

namespace roll::ifeval {

/// Required relation of a count in the response to the number in the instruction.
enum class Relation { kLessThan, kAtLeast, kAtMost, kAround };
constexpr auto enum_names(Relation) {
  return std::to_array<Named<Relation>>({{Relation::kLessThan, "less than"},
                                         {Relation::kAtLeast, "at least"},
                                         {Relation::kAtMost, "at most"},
                                         {Relation::kAround, "around"}});
}

/// Returns whether `count` (found in the response) has the relation to `number` (demanded). kAround means that they
/// differ by at most `tolerance`; the other relations ignore it.
bool holds(Relation relation, int64_t count, int64_t number, int64_t tolerance = 0);
/// Returns a tenth of `number`, rounded (half to even), but at least 1. It is the tolerance of kAround for counts of
/// words.
int64_t tenth(int64_t number);

/// Reads the arguments by name. Each getter throws UserError "key = value: must be ..." if the argument is missing,
/// null or not of the form in the getter's comment. Returned texts are valid UTF-8.
class Arguments {
 public:
  /// `values`: an object name -> value, or null for an instruction without arguments. It must outlive this object.
  explicit Arguments(const Json& values) : values_(values) {}

  int64_t whole(const char* key) const;                   // a whole number >= 0, also written as 3.0
  std::string text(const char* key) const;                // not blank; returned without white space at both ends
  std::string exact_text(const char* key) const;          // not empty; returned unchanged
  std::string letter(const char* key) const;              // exactly one character
  std::vector<std::string> texts(const char* key) const;  // a list of one or more texts, each not blank
  std::string text_or_first(const char* key) const;       // like text(), or the first of texts() if it is a list
  Relation relation(const char* key) const;               // a name of Relation, such as "at least"

 private:
  const Json& value(const char* key) const;
  const Json& values_;
};

}  // namespace roll::ifeval
