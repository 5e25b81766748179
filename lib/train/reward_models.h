// Reward models of a run. Each is shared out over the ranks like any other model, so they all score together, while nothing
// is left to sample: responses wait in DomainRewards until then.
#pragma once

#include <map>
#include <string>

#include "base/log.h"
#include "dist/mesh.h"
#include "model/value_model.h"
#include "settings/config.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"
#include "train/domain_rewards.h"

namespace roll {

class RewardModels {
 public:
  /// Loads what rewards.* name: HF's sequence classification with one label. **Collective**. UserError of the loaders.
  RewardModels(const Config& config, Meshes& meshes, at::Device device, Log& log);

  bool empty() const { return domains_.empty(); }
  /// Scores what is held, of all ranks, and releases it: the model's number at the last token of the conversation with
  /// the response as its last message. **Collective**.
  void score(DomainRewards& rewards, Communicator& world);

 private:
  struct Scorer {
    const WorkerConfig& worker;
    Mesh& mesh;
    ValueModel model;
    Tokenizer tokenizer;
    ChatTemplate chat_template;
  };
  std::vector<int64_t> ids_of(const Scorer& scorer, const RewardQuery& query) const;

  at::Device device_;
  Log& log_;
  std::map<std::string, Scorer> domains_;
};

}  // namespace roll
