#include "settings/agentic.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/nearest.h"
#include "config/node.h"
#include "environment/agent_text.h"
#include "environment/environment.h"
#include "settings/training_plan.h"

namespace roll {

namespace {

constexpr int64_t kTrainingLevels = 2048;

Node text_node(const std::string& text, const Place& place) {
  return {.kind = Node::Kind::kScalar, .text = text, .quoted = true, .place = place};
}

/// Returns the groups of each tag; for a wrong partition, check_manager() complains.
std::vector<int64_t> groups_per_tag(const EnvManagerConfig& manager) {
  const auto num_tags = std::ssize(manager.tags);
  if (!manager.num_groups_partition.empty()) return manager.num_groups_partition;
  std::vector<int64_t> groups(num_tags, manager.num_env_groups / std::max<int64_t>(1, num_tags));
  for (int64_t i = 0; i < manager.num_env_groups % std::max<int64_t>(1, num_tags); ++i) ++groups[i];
  return groups;
}

/// Shares `count` out over the tags in proportion to their groups.
std::map<std::string, int64_t> split_by_groups(const EnvManagerConfig& manager, int64_t count) {
  const std::vector<int64_t> groups = groups_per_tag(manager);
  const int64_t num_groups = std::max<int64_t>(1, std::accumulate(groups.begin(), groups.end(), int64_t{0}));
  std::map<std::string, int64_t> levels;
  int64_t groups_before = 0;
  for (size_t i = 0; i < manager.tags.size(); ++i) {
    const int64_t start = count * groups_before / num_groups;
    groups_before += groups.at(i);
    levels[manager.tags[i]] += count * groups_before / num_groups - start;
  }
  return levels;
}

void check_manager(const EnvManagerConfig& manager, const Config& config, Checker& check) {
  std::vector<std::string> known;
  for (const auto& [tag, environment] : config.agentic.custom_envs) known.push_back(tag);
  for (const std::string& tag : manager.tags)
    check.require(config.agentic.custom_envs.contains(tag), manager.tags, "custom_envs has no {}; it has {}{}", tag,
                  known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")), did_you_mean(tag, known));
  check.require(std::set(manager.tags.begin(), manager.tags.end()).size() == manager.tags.size(), manager.tags,
                "names a tag twice; name each tag once");
  const auto& partition = manager.num_groups_partition;
  if (partition.empty()) {
    check.require(std::ssize(manager.tags) <= manager.num_env_groups, manager.num_env_groups,
                  "must be at least the number of tags, {}", manager.tags.size());
    return;
  }
  check.require(partition.size() == manager.tags.size(), partition,
                "has {} numbers for {} tags; give one number per tag", partition.size(), manager.tags.size());
  check.require(std::accumulate(partition.begin(), partition.end(), int64_t{0}) == manager.num_env_groups, partition,
                "must sum to {}", check.name(manager.num_env_groups));
}

void check_environment(const std::string& tag, const EnvironmentConfig& config, bool offline, Checker& check) {
  const std::string key_prefix = fmt::format("custom_envs.{}.", tag);
  if (!check.require_given(check.is_set(config.env_type) || config.env_config.python_class, config.env_type,
                           "name the type of the environment, for example frozen_lake"))
    return;
  if (!check.require(config.manager().has_value(), config.env_manager_cls,
                     "is unknown; use TrajEnvManager, in which all turns of a trajectory form one sequence, or "
                     "StepEnvManager, in which each turn has a separate prompt; for an external agent set env_type: "
                     "openai, for an environment in Python env_type: python (configs/agentic.md)"))
    return;
  const bool answers_calls = config.env_type->is_agent || config.env_type->answers_calls;
  check.require(!config.has_contexts() || !answers_calls, config.env_manager_cls,
                "shows a turn neither tool answers nor messages of an agent; {} needs TrajEnvManager",
                check.name(config.env_type));
  if (!config.has_contexts() && check.is_set(config.history_length))
    check.note(fmt::format("{}: has no effect with TrajEnvManager, which shows all turns; only StepEnvManager reads it",
                           check.name(config.history_length)));
  const auto& environment_max_steps = config.env_config.max_steps;
  check.require(!environment_max_steps || *environment_max_steps == config.max_steps, environment_max_steps,
                "differs from {}; keep one of the two", check.name(config.max_steps));
  for (const int64_t side : config.env_config.dim_room)
    check.require(side >= 5 && side <= 32, config.env_config.dim_room, "each side must be in 5..32");
  const EnvironmentArgs& args = config.env_config;
  check.require(!args.python_class || config.env_type->name == std::string("python"), args.python_class,
                "needs env_type: python, but {}; remove one of the two", check.name(config.env_type));
  check.require(!args.sandbox || config.env_type->is_program, args.sandbox,
                "is only for programs (env_type: command or python), but {}; remove it", check.name(config.env_type));
  check.require(!args.sandbox || args.addresses.empty(), args.sandbox,
                "the programs run on the hosts of addresses; start them there with roll serve-environment --sandbox");
  check.require(args.sandbox || !args.memory_mb, args.memory_mb,
                "limits programs in a sandbox, but there is no sandbox; set sandbox: true, or remove it");
  check.collect_named(config.agent_template, [&] { check_agent_template(config, key_prefix); });
  check.collect_named(config.env_type, [&] {
    make_environment(config, tag);
    if (config.env_type->check && !offline) config.env_type->check(config.env_config, key_prefix + "env_config.");
  });
}

void complete_agentic_sampling(Config& config, Checker& check) {
  GeneratingArgs &infer = config.actor_infer.generating_args, &validation = config.validation.generating_args;
  AgenticConfig& agentic = config.agentic;
  if (check.is_set(agentic.train_env_manager.generating_args)) infer = agentic.train_env_manager.generating_args;
  if (check.is_set(agentic.val_env_manager.generating_args))
    validation = agentic.val_env_manager.generating_args;
  else if (!check.is_set(config.validation.generating_args))
    validation = infer;
  infer.num_return_sequences = config.num_return_sequences_in_group;
  validation.num_return_sequences = agentic.val_env_manager.group_size;
  // The resolved configuration then reads back to the same values.
  agentic.train_env_manager.generating_args = infer;
  agentic.val_env_manager.generating_args = validation;
}

/// Fills prompt_length from sequence_length, because ROLL's recipes of environments only set the latter.
void complete_prompt_length(Config& config, Checker& check) {
  const int64_t sequence_length = *config.sequence_length;
  int64_t turn_tokens = 0;
  for (const std::string& tag : config.agentic.train_env_manager.tags)
    if (const auto found = config.agentic.custom_envs.find(tag); found != config.agentic.custom_envs.end())
      turn_tokens = std::max(turn_tokens, found->second.max_tokens_per_step);
  for (const WorkerConfig* worker : {&config.actor_infer, &config.validation})
    turn_tokens = std::max(turn_tokens, worker->generating_args.max_new_tokens.value_or(0));
  const bool has_contexts = most_contexts(config) > 1 && turn_tokens < sequence_length;
  if (!has_contexts && sequence_length > config.prompt_length) return;
  config.prompt_length = has_contexts ? sequence_length - turn_tokens : sequence_length / 2;
  check.note(fmt::format("prompt_length = {}: {} {}, because prompt_length is not set", config.prompt_length,
                         has_contexts ? fmt::format("a turn of {} tokens subtracted from", turn_tokens) : "half of",
                         check.name(config.sequence_length)));
}

void complete_normalization(Config& config, Checker& check) {
  const auto& [grouping, method, mean, deviation] = config.agentic.reward_normalization;
  if (!check.is_set(config.agentic.reward_normalization)) return;
  ExperienceConfig& experience = config.experience;
  const std::optional<NormType> type = grouping == RewardGrouping::kGroup ? NormType::kGroup : NormType::kBatch;
  const auto fill = [&](std::optional<NormType>& member, const std::optional<NormType>& wanted_type) {
    if (!wanted_type) return;
    check.require(!check.is_set(member) || member == wanted_type, member, "differs from {}; keep one of the two",
                  check.key(config.agentic.reward_normalization));
    member = wanted_type;
  };
  fill(experience.norm_mean_type, method == RewardMethod::kIdentity ? mean : type);
  fill(experience.norm_std_type, method == RewardMethod::kMeanStd ? type : deviation);
  if (method == RewardMethod::kIdentity) {
    Chosen<AdvantageEstimator>& estimator = experience.adv_estimator;
    if (experience.norm_mean_type || experience.norm_std_type || estimator != Chosen<AdvantageEstimator>("grpo"))
      return;
    check.note(fmt::format("{}: is replaced by reinforce, because {} leaves rewards unchanged", check.name(estimator),
                           check.key(config.agentic.reward_normalization)));
    estimator = "reinforce";
    return;
  }
  if (grouping == RewardGrouping::kBatch && !check.is_set(experience.statistics_per_domain))
    experience.statistics_per_domain = false;
}

}  // namespace

void add_environment_rewards(Node& tree) {
  std::vector<Node> tags;
  for (const char* manager : {"train_env_manager", "val_env_manager"})
    if (const Node* manager_node = tree.find(manager))
      if (const Node* tags_node = manager_node->find("tags")) {
        if (tags_node->kind == Node::Kind::kScalar) tags.push_back(*tags_node);
        tags.insert(tags.end(), tags_node->list.begin(), tags_node->list.end());
      }
  if (tags.empty()) return;
  if (!tree.find("rewards"))
    tree.map.push_back({"rewards", tree.place, Node{.kind = Node::Kind::kMap, .place = tree.place}});
  Node& rewards = *tree.find("rewards");
  if (rewards.kind == Node::Kind::kNull) rewards.kind = Node::Kind::kMap;
  if (rewards.kind != Node::Kind::kMap) return;
  for (const Node& tag : tags) {
    if (tag.kind != Node::Kind::kScalar || rewards.find(tag.text)) continue;
    Node reward{.kind = Node::Kind::kMap, .place = tag.place};
    reward.map.push_back({"type", tag.place, text_node("environment", tag.place)});
    Node included{.kind = Node::Kind::kList, .list = {text_node(tag.text, tag.place)}, .place = tag.place};
    reward.map.push_back({"tag_included", tag.place, std::move(included)});
    rewards.map.push_back({tag.text, tag.place, std::move(reward)});
  }
}

void complete_agentic(Config& config, Checker& check) {
  AgenticConfig& agentic = config.agentic;
  if (!agentic.is_used()) return;
  for (auto& [tag, environment] : agentic.custom_envs)
    if (environment.env_config.python_class && !check.is_set(environment.env_type)) environment.env_type = "python";
  const EnvManagerConfig& train = agentic.train_env_manager;
  int64_t& group = config.num_return_sequences_in_group;
  check.require(!check.is_set(group) || group == train.group_size, group, "differs from {}; keep one of the two",
                check.name(train.group_size));
  group = train.group_size;
  complete_agentic_sampling(config, check);
  if (!check.is_set(config.prompt_length) && config.sequence_length) complete_prompt_length(config, check);
  complete_normalization(config, check);
  auto& shares = config.actor_train.data_args.domain_interleave_probs;
  const std::vector<int64_t> groups = groups_per_tag(train);
  if (!shares.empty() || groups.size() != train.tags.size()) return;
  const double num_groups = static_cast<double>(std::accumulate(groups.begin(), groups.end(), int64_t{0}));
  for (size_t i = 0; i < groups.size(); ++i) shares[train.tags[i]] = static_cast<double>(groups[i]) / num_groups;
}

void complete_copied_batches(Config& config, Checker& check) {
  const int64_t step_trajectories = config.sequences_per_step();
  if (!config.agentic.is_used() || !config.trains() || step_trajectories <= 0) return;
  for (const TrainableRole& row : trainable_roles()) {
    WorkerConfig& worker = config.*row.worker;
    TrainingArgs& args = worker.training_args;
    const int64_t mini_batch = worker.mini_batch();
    if (args.train_batch_size || mini_batch <= step_trajectories || mini_batch % step_trajectories != 0 ||
        step_trajectories % worker.data_ranks() != 0)
      continue;
    if ((config.*row.is_used)())
      check.note(
          fmt::format("{}: an update would have {} trajectories, but a step has {}; ROLL would fill the update with "
                      "copies, and here an update has each of the {} trajectories once, with the same gradient",
                      check.name(args.gradient_accumulation_steps), mini_batch, step_trajectories, step_trajectories));
    args.train_batch_size = step_trajectories;
    args.gradient_accumulation_steps = 1;
  }
}

void check_agentic(const Config& config, bool offline, Checker& check) {
  const AgenticConfig& agentic = config.agentic;
  const auto& adv_estimator = config.experience.adv_estimator;
  if (adv_estimator->weighs_turns) {
    check.require(agentic.is_used() || config.rollout_replay, adv_estimator,
                  "weighs turns in environments, but there are no environments; name some in train_env_manager.tags, "
                  "or choose grpo or reinforce");
    check.require(!config.experience.add_token_level_kl, config.experience.add_token_level_kl,
                  "{} uses the rewards of turns without a KL term; set use_kl_loss: true instead",
                  check.name(adv_estimator));
  }
  if (!agentic.is_used()) {
    check.require(agentic.custom_envs.empty() || config.rollout_replay, agentic.custom_envs,
                  "no manager plays these environments; name some in train_env_manager.tags, or remove them");
    return;
  }
  check_manager(agentic.train_env_manager, config, check);
  check_manager(agentic.val_env_manager, config, check);
  std::set<std::string> tags(agentic.train_env_manager.tags.begin(), agentic.train_env_manager.tags.end());
  tags.insert(agentic.val_env_manager.tags.begin(), agentic.val_env_manager.tags.end());
  for (const std::string& tag : tags)
    if (const auto found = agentic.custom_envs.find(tag); found != agentic.custom_envs.end())
      check_environment(tag, found->second, offline, check);
  if (most_contexts(config) > 1)
    check.note(
        "StepEnvManager: each turn has a separate prompt and is one sequence in losses; rollout_batch_size and "
        "mini-batches count trajectories");
  const int64_t group = agentic.train_env_manager.group_size, val_group = agentic.val_env_manager.group_size;
  check.require(config.rollout_batch_size % group == 0, config.rollout_batch_size,
                "counts trajectories, and must be a multiple of {}", check.name(agentic.train_env_manager.group_size));
  check.require(agentic.val_batch_size == -1 || (agentic.val_batch_size > 0 && agentic.val_batch_size % val_group == 0),
                agentic.val_batch_size, "counts trajectories, and must be a multiple of {}, or -1",
                check.name(agentic.val_env_manager.group_size));
  const auto& files = config.actor_train.data_args.file_name;
  check.require(files.empty(), files,
                "training uses levels of environments, because train_env_manager has tags; remove it");
  const auto& val_files = config.validation.data_args.file_name;
  check.require(val_files.empty() || !agentic.validates(), val_files,
                "the validation uses levels of val_env_manager; move these rows to a named set in validation.sets");
  const auto& estimator = config.experience.adv_estimator;
  check.require(
      !estimator->reads_energies, estimator,
      "compares tokens at the same position of responses, which is not possible with turns; choose grpo or rloo");
}

std::map<std::string, EnvironmentConfig> played_environments(const Config& config) {
  std::map<std::string, EnvironmentConfig> played;
  if (!config.agentic.is_used()) return played;
  for (const EnvManagerConfig* manager : {&config.agentic.train_env_manager, &config.agentic.val_env_manager})
    for (const std::string& tag : manager->tags) {
      const auto [found, is_new] = played.emplace(tag, config.agentic.custom_envs.at(tag));
      auto& penalty = found->second.env_config.format_penalty;
      if (is_new && !penalty) penalty = manager->format_penalty;
    }
  return played;
}

int64_t most_contexts(const Config& config) {
  int64_t max_contexts = 1;
  if (!config.agentic.is_used()) return max_contexts;
  for (const std::string& tag : config.agentic.train_env_manager.tags)
    if (const auto found = config.agentic.custom_envs.find(tag);
        found != config.agentic.custom_envs.end() && found->second.has_contexts())
      max_contexts = std::max(max_contexts, found->second.max_steps);
  return max_contexts;
}

std::map<std::string, int64_t> training_levels(const Config& config) {
  const EnvManagerConfig& manager = config.agentic.train_env_manager;
  return split_by_groups(manager, manager.num_levels.value_or(std::max(kTrainingLevels, config.prompts_per_step())));
}

std::map<std::string, int64_t> validation_levels(const Config& config) {
  const EnvManagerConfig& manager = config.agentic.val_env_manager;
  const int64_t batch_size = config.agentic.val_batch_size;
  return split_by_groups(
      manager, manager.num_levels.value_or(batch_size > 0 ? batch_size / manager.group_size : manager.num_env_groups));
}

}  // namespace roll
