// Visits all keys of a struct with fields() (keys.h), groups within groups included.
#pragma once

#include <functional>
#include <string>

#include "config/keys.h"

namespace roll {

/// What stands in a fields() line.
struct KeyInfo {
  enum class Kind { kKey, kGroup, kNoted, kRefused };
  std::string path;  // "actor_train.training_args.learning_rate"
  std::string key;   // its last part
  Kind kind = Kind::kKey;
  std::string doc;  // or the reason of a noted or refused key
  Range range{};    // of numbers
  bool may_change = false;
};

/// `member`: none where the key is noted or refused.
using VisitKey = std::function<void(const KeyInfo& info, const AnyMember& member)>;

/// Which keys: those of the struct itself; those of its groups as well; those of an entry "<name>" of an empty map of
/// groups, and of an entry 0 of an empty list of groups, too.
enum class WalkDepth { kTop, kAll, kExamples };

/// A group comes before its keys. Maps and lists of groups are walked by their entries.
void walk(const AnyMember& group, WalkDepth depth, const VisitKey& f);

}  // namespace roll
