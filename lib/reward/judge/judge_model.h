// Who judges: messages to words. Not thread-safe: one object per worker.
#pragma once

#include <string>
#include <variant>

#include "base/json.h"
#include "reward/reward.h"

namespace roll {

/// Words, or why there are none.
using JudgeReply = std::variant<JudgeWords, RewardResult>;

class JudgeModel {
 public:
  virtual ~JudgeModel() = default;
  /// As RewardFunction::check_files().
  virtual void check_files() const {}
  /// Before the first question; UserError as RewardFunction::prepare().
  virtual void prepare() {}
  /// messages: of one chat. UserError: whoever judges will answer no question at all.
  virtual JudgeReply ask(const Json& messages) = 0;
};

}  // namespace roll
