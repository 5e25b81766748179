// An LLM judge on some or all ranks of this run, for RewardModels: a language model apart from the policy. Any rank may
// ask questions; they are distributed over the groups of ranks that each hold a copy of the model.
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
  /// Loads the model on the judge's ranks; every rank of the run creates the object. `judge`: judge.writes() must be
  /// true. `seed`: of the random numbers that sample answers. `roles`: the judge shares their frozen weights if model
  /// folder, dtype and ranks are the same. `meshes` must outlive the engine. Throws UserError if the model, tokenizer
  /// or chat template cannot be loaded. **Collective** over the world.
  JudgeEngine(const JudgingModel& judge, uint64_t seed, Meshes& meshes, at::Device device, const Roles& roles);

  struct Question {
    Json messages;      // list of {role, content} for the judge's chat template
    uint64_t name = 0;  // key of the random numbers; unique among the questions of all ranks in a step
  };
  /// Returns the answers to `local`, this rank's questions (maybe none), in order; nullopt if a question's prompt plus
  /// max_new_tokens exceeds the model's positions. `step`: training step, part of the random key. An answer does not
  /// depend on which rank asked or answered. **Collective** over the world.
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
