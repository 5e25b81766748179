// Base class of the reward types command and python: asks a user's program (program.h) about each response.
#pragma once

#include <string>
#include <vector>

#include "reward/program.h"
#include "reward/reward.h"

namespace roll {

/// The constructor takes the parameters of RewardProgram.
class ProgramReward : public RewardFunction {
 public:
  ProgramReward(const std::vector<std::string>& command, const RuleContext& context, const ProgramOptions& options = {})
      : program_(command, context, options) {}

  bool is_user_code() const override { return true; }
  void check_files() const override { program_.check_files(); }

  RewardResult score(const RewardQuery& q) override { return program_.ask(reward_question(q), parse_reply); }

 protected:
  /// Returns the question, without its "id": the members of the query that command.h lists.
  static Json reward_question(const RewardQuery& q) {
    return {{"prompt", q.prompt},
            {"messages", q.messages},
            {"response", q.response},
            {"ground_truth", q.ground_truth},
            {"tag", q.tag},
            {"domain", q.domain},
            {"finish_reason", q.finish_reason},
            {"num_response_tokens", q.num_response_tokens},
            {"row", q.row}};
  }

  RewardProgram program_;
};

}  // namespace roll
