// Visits all keys of a struct with fields() (keys.h), nested groups included, for --help, key tables and checks.
#pragma once

#include <functional>
#include <string>

#include "config/keys.h"

namespace roll {

/// One line of fields().
struct KeyInfo {
  enum class Kind { kKey, kGroup, kNoted, kRefused };
  std::string path;  // "actor_train.training_args.learning_rate"
  std::string key;   // last part of `path`
  Kind kind = Kind::kKey;
  std::string doc;  // for kNoted and kRefused: the reason
  Range range{};    // allowed numbers
  bool may_change = false;
};

/// Receives a key; `member` is empty for noted and refused keys.
using VisitKey = std::function<void(const KeyInfo& info, const AnyMember& member)>;

/// Keys to visit. kTop: only the struct's own. kAll: also those of its groups. kExamples: also those of a sample entry
/// ("<name>" or 0) of empty maps and lists of groups.
enum class WalkDepth { kTop, kAll, kExamples };

/// Calls f for each key, a group before its keys. Maps and lists of groups are visited entry by entry.
void walk(const AnyMember& group, WalkDepth depth, const VisitKey& f);

}  // namespace roll
