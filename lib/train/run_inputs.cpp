#include "train/run_inputs.h"

#include "settings/batch_plan.h"
#include "train/prompts.h"

namespace roll {

RunInputs load_run_inputs(const Config& config, RoleSources sources, Log& log) {
  Tokenizer tokenizer = Tokenizer::load(sources.policy_folder());
  RunInputs inputs{std::move(sources), std::move(tokenizer), {}};
  if (config.rollout_replay) return inputs;
  RolloutManager::Data& data = inputs.sampling_data;
  data.prompts = open_training_prompts(config, inputs.sources.policy_folder(), inputs.tokenizer, log);
  data.prompts_per_step = config.prompts_per_step();
  data.prompts->quota(data.prompts_per_step);  // throws if the shares are impossible
  return inputs;
}

Config with_max_steps(Config config, const RunInputs& inputs) {
  if (inputs.sampling_data.prompts) config.max_steps = count_steps(config, inputs.sampling_data.prompts->rows().size());
  return config;
}

}  // namespace roll
