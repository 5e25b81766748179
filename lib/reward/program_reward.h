// Base class of rewards by a user's program (types command and python): builds the question for each response.
#pragma once

#include <string>
#include <vector>

#include "reward/program.h"
#include "reward/reward.h"

namespace roll {

class ProgramReward : public RewardFunction {
 public:
  ProgramReward(const std::vector<std::string>& command, const RuleContext& context, const ProgramWords& words = {})
      : program_(command, context, words) {}

  bool is_user_code() const override { return true; }
  void check_files() const override { program_.check_files(); }

  RewardResult score(const RewardQuery& q) override { return program_.ask(reward_question(q), parse_reply); }

 protected:
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
