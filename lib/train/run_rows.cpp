#include "train/run_rows.h"

#include "settings/batch_plan.h"
#include "train/prompts.h"

namespace roll {

RunRows load_run_rows(const Config& config, RoleSources sources, Log& log) {
  Tokenizer tokenizer = Tokenizer::load(sources.policy_folder());
  RunRows rows{std::move(sources), std::move(tokenizer), {}};
  if (config.rollout_replay) return rows;
  RolloutManager::Data& data = rows.sampling_data;
  data.prompts = open_training_prompts(config, rows.sources.policy_folder(), rows.tokenizer, log);
  data.prompts_per_step = config.prompts_per_step();
  data.prompts->quota(data.prompts_per_step);  // throws if the shares are impossible
  return rows;
}

Config with_max_steps(Config config, const RunRows& rows) {
  if (rows.sampling_data.prompts) config.max_steps = count_steps(config, rows.sampling_data.prompts->rows().size());
  return config;
}

}  // namespace roll
