#include "reward/command.h"

#include "reward/program_reward.h"

namespace roll {

std::unique_ptr<RewardFunction> make_command(const CommandArgs& args, const RuleContext& context) {
  return std::make_unique<ProgramReward>(args.command, context);
}

}  // namespace roll
