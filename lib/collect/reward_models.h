// Models of a run that judge responses, for RolloutWorker: reward models return a number, judges write text. Each is
// distributed over ranks of the run, so the ranks must call it together. They do so once nothing is left to sample;
// until then, responses wait in DomainRewards.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "collect/domain_rewards.h"
#include "collect/judge_engine.h"
#include "dist/mesh.h"
#include "model/value_model.h"
#include "reward/judge/judge_rule.h"
#include "step/batches.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace roll {

class RewardModels {
 public:
  /// Loads the models; every rank of the run creates the object. A reward model must be a Hugging Face sequence
  /// classification model with one label. `seed`: for the judges' sampling. `roles`: models of the run, whose frozen
  /// weights may be shared. `meshes` and `log` must outlive this object. Throws UserError if a model cannot be loaded.
  /// **Collective** over the world.
  RewardModels(const std::vector<JudgingModel>& models, uint64_t seed, Meshes& meshes, at::Device device,
               const Roles& roles, Log& log);

  /// Returns true if the run has no judging models, on all ranks alike; judge() then need not be called.
  bool empty() const { return scorers_.empty() && judges_.empty(); }
  /// Judges responses and stores the results in their queries: a judge's text in judge_words, or in model_score the
  /// reward model's value at the conversation's last token. The conversation ends with the response. model_s gets the
  /// seconds taken. The fields stay unset if the conversation is too long for the model. `held`: this rank's responses,
  /// by domain (DomainRewards::held()). `step`: training step, part of the judges' random keys. **Collective** over the
  /// world.
  void judge(std::map<std::string, HeldQueries>& held, int64_t step);

 private:
  struct Scorer {
    RoleMesh& mesh;
    ModelSpec spec;
    BatchRule rule;
    std::optional<ValueModel> model;  // set on the model's ranks
    Tokenizer tokenizer;
    ChatTemplate chat_template;
  };
  struct Judge {
    std::shared_ptr<JudgeEngine> engine;  // shared by domains under judge_model_type: cluster
    JudgeRule rule;
  };
  void load_scorer(const JudgingModel& judging, Meshes& meshes, const Roles& roles);
  void load_judge(const JudgingModel& judge, uint64_t seed, Meshes& meshes, const Roles& roles);
  void score(Scorer& scorer, HeldQueries& held);
  std::vector<ScoreReply> scores(Scorer& scorer, const std::vector<ScorePrompt>& conversations, const Partition& plan);
  void ask(Judge& judge, HeldQueries& held, int64_t step);

  at::Device device_;
  Log& log_;
  std::map<std::string, Scorer> scorers_;  // by domain
  std::map<std::string, Judge> judges_;
};

}  // namespace roll
