// Visits all keys of a struct with fields() (keys.h), nested groups included, for --help, key tables and checks.
#pragma once

#include <functional>
#include <string>

#include "config/keys.h"

namespace roll {

/// A key as fields() declares it.
struct KeyInfo {
  /// kGroup: a nested struct, a map or a list of structs. kNoted, kRefused: keys of other programs (keys.h).
  enum class Kind { kKey, kGroup, kNoted, kRefused };
  std::string path;  // "actor_train.training_args.learning_rate"
  std::string key;   // last part of `path`
  Kind kind = Kind::kKey;
  std::string doc;          // meaning; for kNoted and kRefused, the reason
  Range range{};            // allowed numbers
  bool may_change = false;  // the rule may_change()
  bool must_stay = false;   // the rule must_stay()
};

/// Called for each key; `member` has no type and address for noted and refused keys.
using VisitKey = std::function<void(const KeyInfo& info, const AnyMember& member)>;

/// Keys to visit. kTop: only keys that the struct itself declares. kAll: also keys of nested groups, at any depth.
/// kExamples: also keys of a default entry, with the name "<name>" or 0, in each empty map or list of structs.
enum class WalkDepth { kTop, kAll, kExamples };

/// Calls f for each key of the struct `group`, a nested group before its own keys. Maps and lists of structs are
/// visited entry by entry.
void walk(const AnyMember& group, WalkDepth depth, const VisitKey& f);

}  // namespace roll
