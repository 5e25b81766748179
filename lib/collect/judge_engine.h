// LLM judge in this program, for RewardModels: a separate language model on ranks of the run. The questions of all
// ranks are distributed over the rank groups that hold the model.
#pragma once

#include <optional>
#include <vector>

#include "base/log.h"
#include "dist/mesh.h"
#include "model/transformer.h"
#include "records/messages.h"
#include "reward/reward.h"
#include "rollout/sampler.h"
#include "settings/judging_models.h"
#include "step/roles.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace roll {

class JudgeEngine {
 public:
  /// `roles`: may share frozen weights with the judge, if its model folder is the same. **Collective**. UserError: the
  /// model, tokenizer or chat template cannot be loaded.
  JudgeEngine(const JudgingModel& judge, uint64_t seed, Meshes& meshes, at::Device device, const Roles& roles);

  struct Question {
    Json messages;
    uint64_t name = 0;  // key of its random numbers
  };
  /// Returns the answers to this rank's questions, in order; nullopt if a question leaves no room for an answer.
  /// Answers do not depend on the ranks or their order. **Collective** over the world.
  std::vector<std::optional<JudgeWords>> ask(const std::vector<Question>& local, int64_t step);

 private:
  JudgeRequest judge_prompt(const Question& question) const;
  std::vector<Generation> generate(const std::vector<JudgeRequest>& prompts, int64_t step);

  SamplingSettings sampling_;
  CacheSettings cache_;
  uint64_t seed_;
  RoleMesh& mesh_;
  ModelSpec spec_;
  std::optional<Transformer> model_;  // set on the judge's ranks
  Tokenizer tokenizer_;
  ChatTemplate chat_template_;
};

}  // namespace roll
