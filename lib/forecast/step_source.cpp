#include "forecast/step_source.h"

#include <algorithm>

#include "base/error.h"
#include "records/rollout_files.h"

namespace roll {

ThinStep assumed_step(const Config& config, const ResponseModel& responses, int64_t step) {
  ThinStep thin{.number = step, .group_size = config.num_return_sequences_in_group};
  std::vector<std::string> domains;
  for (const auto& [domain, worker] : config.rewards) domains.push_back(domain);
  for (int64_t group = 0; group < config.prompts_per_step(); ++group)
    thin.domain_of_group.push_back(domains[static_cast<size_t>(group) % domains.size()]);
  const int64_t num_sequences = config.sequences_per_step();
  thin.prompt_lengths.assign(num_sequences, std::max<int64_t>(1, config.prompt_length / 4));
  for (int64_t i = 0; i < num_sequences; ++i)
    thin.response_lengths.push_back(modelled_length(responses, config.response_length.value(),
                                                    {.seed = static_cast<uint64_t>(config.seed),
                                                     .purpose = Purpose::kSample,
                                                     .step = static_cast<uint32_t>(step),
                                                     .sequence = static_cast<uint64_t>(i)}));
  return thin;
}

ThinStep recorded_step(const std::filesystem::path& rollouts, const Config& config, int64_t step) {
  const int64_t group_size = config.num_return_sequences_in_group;
  const auto records = read_replay(folder_with_step(rollouts, step), step, group_size);
  ThinStep thin{.number = step, .group_size = group_size};
  for (int64_t i = 0; i < config.sequences_per_step(); ++i) {
    const RolloutRecord& record = records[static_cast<size_t>(i) % records.size()];
    thin.prompt_lengths.push_back(std::ssize(record.prompt_ids));
    thin.response_lengths.push_back(std::ssize(record.response_ids));
    thin.turns.push_back(record.turns);
    if (i % group_size == 0) thin.domain_of_group.push_back(record.domain);
  }
  return thin;
}

}  // namespace roll
