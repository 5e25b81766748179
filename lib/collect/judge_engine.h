// A judge in this program: a language model of its own on the ranks of the run. Its questions are shared out over the
// groups of ranks that hold it, whoever asks them.
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
  /// `roles`: whose frozen weights the judge shares where they are its own. **Collective**. UserError of the loaders.
  JudgeEngine(const JudgingModel& judge, uint64_t seed, Meshes& meshes, at::Device device, const Roles& roles);

  struct Question {
    Json messages;
    uint64_t name = 0;  // names its random numbers
  };
  /// In the order of this rank's questions; nullopt where a question leaves no room for an answer. What is drawn
  /// depends on neither the ranks nor their order. **Collective** over the world, on some ranks of which it lives.
  std::vector<std::optional<JudgeWords>> ask(const std::vector<Question>& mine, int64_t step);

 private:
  JudgeAsked prompt_of(const Question& question) const;
  std::vector<Generation> generate(const std::vector<JudgeAsked>& prompts, int64_t step);

  SamplingSettings sampling_;
  CacheSettings cache_;
  uint64_t seed_;
  RoleMesh& mesh_;
  ModelSpec spec_;
  std::optional<Transformer> model_;  // on its ranks
  Tokenizer tokenizer_;
  ChatTemplate chat_template_;
};

}  // namespace roll
