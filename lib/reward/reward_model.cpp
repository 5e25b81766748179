#include "reward/reward_model.h"

#include "base/error.h"
#include "reward/reward.h"

namespace roll {

namespace {

class ModelScore : public RewardFunction {
 public:
  RewardResult score(const RewardQuery& query) override {
    ROLL_CHECK(query.model_score.has_value(), "a model scores a response before its reward is asked for");
    return judged(*query.model_score);
  }
};

}  // namespace

std::unique_ptr<RewardFunction> make_reward_model(const RewardModelArgs&, const RuleContext&) {
  return std::make_unique<ModelScore>();
}

}  // namespace roll
