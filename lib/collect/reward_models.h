// Models of a run that judge responses, for RolloutWorker: reward models return a number, judges write text. Each is
// distributed over ranks like any other model, so all ranks run it together once nothing is left to sample; responses
// wait in DomainRewards until then.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
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
  /// A reward model is Hugging Face's sequence classification with one label. `seed`: for the judges' sampling.
  /// **Collective**. UserError: a model cannot be loaded.
  RewardModels(const std::vector<JudgingModel>& models, uint64_t seed, Meshes& meshes, at::Device device,
               const Roles& roles, Log& log);

  bool empty() const { return scorers_.empty() && judges_.empty(); }
  /// Judges the held queries of all ranks, given by domain and response, and stores the result in each query. A reward
  /// model's score is its value at the last token of the conversation that ends with the response. **Collective** over
  /// the world.
  void judge(std::map<std::string, std::map<int64_t, RewardQuery>>& held, int64_t step);

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
  using Held = std::map<int64_t, RewardQuery>;

  void load_scorer(const JudgingModel& judging, Meshes& meshes, const Roles& roles);
  void load_judge(const JudgingModel& judge, uint64_t seed, Meshes& meshes, const Roles& roles);
  void score(Scorer& scorer, Held& held);
  std::vector<ScoreReply> scores(Scorer& scorer, const std::vector<ScorePrompt>& conversations, const Partition& plan);
  void ask(Judge& judge, Held& held, int64_t step);

  at::Device device_;
  Log& log_;
  std::map<std::string, Scorer> scorers_;  // by domain
  std::map<std::string, Judge> judges_;
};

}  // namespace roll
