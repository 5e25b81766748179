// Rewards outside of a run: a reward's workers, and the model of this program that judges, where there is one.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "collect/reward_models.h"
#include "dist/communicator.h"
#include "dist/mesh.h"
#include "reward/reward_pool.h"
#include "settings/config.h"

namespace roll {

class Scorer {
 public:
  /// `config` has one domain, `where` opens error messages. UserError as RewardPool's, and of the loaders.
  Scorer(Config config, const std::string& where, const std::string& device);

  /// In the order of the queries; their names tell a judge's random numbers apart.
  std::vector<RewardResult> score(std::vector<RewardQuery> queries);

 private:
  Config config_;
  std::unique_ptr<Communicator> world_;
  Meshes meshes_;
  Log log_;
  RewardPool pool_;
  RewardModels models_;
};

}  // namespace roll
