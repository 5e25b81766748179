#include "reward/reward_model.h"

#include "reward/reward.h"

namespace roll {

namespace {

class ModelScore : public RewardFunction {
 public:
  RewardResult score(const RewardQuery& query) override {
    if (!query.model_score) return failed_reward(RewardFailure::kUnjudged, kTooLongForModel);
    return judged(*query.model_score);
  }
};

}  // namespace

std::unique_ptr<RewardFunction> make_reward_model(const RewardModelArgs&, const RuleContext&) {
  return std::make_unique<ModelScore>();
}

}  // namespace roll
