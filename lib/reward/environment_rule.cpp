#include "reward/environment_rule.h"

#include "reward/reward.h"

namespace roll {

namespace {

class EnvironmentRule : public RewardFunction {
 public:
  RewardResult score(const RewardQuery& query) override {
    if (query.from_environment) return *query.from_environment;
    return failed_reward(RewardFailure::kUnjudged, "the response was played in no environment");
  }
};

}  // namespace

std::unique_ptr<RewardFunction> make_environment_rule(const EnvironmentRuleArgs&, const RuleContext&) {
  return std::make_unique<EnvironmentRule>();
}

}  // namespace roll
