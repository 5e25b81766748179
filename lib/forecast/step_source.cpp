#include "forecast/step_source.h"

#include <algorithm>

#include "base/error.h"
#include "records/rollout_files.h"

namespace roll {

namespace {

/// Returns the domain's environment if its turns have prompts of their own; else null.
const EnvironmentConfig* find_context_environment(const Config& config, const std::string& domain) {
  const auto found = config.agentic.custom_envs.find(domain);
  const bool is_played = config.agentic.is_used() && found != config.agentic.custom_envs.end();
  return is_played && found->second.has_contexts() ? &found->second : nullptr;
}

}  // namespace

ThinStep assumed_step(const Config& config, const ResponseModel& responses, int64_t step) {
  ThinStep thin{.number = step, .group_size = config.num_return_sequences_in_group};
  std::vector<std::string> domains;
  const std::vector<std::string>& tags = config.agentic.train_env_manager.tags;
  for (const auto& [domain, worker] : config.rewards)
    if (!config.agentic.is_used() || std::ranges::find(tags, domain) != tags.end()) domains.push_back(domain);
  for (int64_t group = 0; group < config.prompts_per_step(); ++group)
    thin.domain_of_group.push_back(domains[static_cast<size_t>(group) % domains.size()]);
  const int64_t num_sequences = config.sequences_per_step(), prompt = std::max<int64_t>(1, config.prompt_length / 4);
  thin.prompt_lengths.assign(num_sequences, prompt);
  for (int64_t i = 0; i < num_sequences; ++i) {
    const auto length = [&](int64_t turn, int64_t longest) {
      return modelled_length(responses, longest,
                             {.seed = static_cast<uint64_t>(config.seed),
                              .purpose = Purpose::kSample,
                              .step = static_cast<uint32_t>(step),
                              .sequence = static_cast<uint64_t>(turn * num_sequences + i)});
    };
    const EnvironmentConfig* const game = find_context_environment(config, thin.domain_of_group[i / thin.group_size]);
    if (!game) {
      thin.response_lengths.push_back(length(0, config.response_length.value()));
      continue;
    }
    thin.turns.resize(num_sequences);
    int64_t response = 0;
    for (int64_t turn = 0; turn < game->max_steps; ++turn) {
      const int64_t sampled = length(turn, std::min(config.response_length.value(), game->max_tokens_per_step));
      const int64_t next_prompt = turn + 1 < game->max_steps ? prompt : 0;
      thin.turns[i].push_back({.num_tokens = sampled, .num_environment_tokens = next_prompt, .is_fresh = turn > 0});
      response += sampled + next_prompt;
    }
    thin.response_lengths.push_back(response);
  }
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
