#include "settings/algorithm_keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "loss/settings.h"

namespace roll {

namespace {

template <class T>
std::string word_or_null(const std::optional<T>& value) {
  return value ? std::string(enum_name(*value)) : "null";
}

/// Returns "rewards.NAME.key = value" for all domains.
template <class F>
std::string each_domain(const AlgorithmSetting& s, const char* key, F&& value) {
  std::vector<std::string> keys;
  for (const auto& [domain, worker] : s.config.rewards)
    keys.push_back(fmt::format("rewards.{}.{} = {}", domain, key, value(worker.reward)));
  return fmt::format("{}", fmt::join(keys, ", "));
}

}  // namespace

std::string advantage_keys(const AlgorithmSetting& s) {
  const Normalisation found = s.experience().normalisation();
  return fmt::format("adv_estimator = {}, norm_mean_type = {}, norm_std_type = {}, whiten_advantages = {}",
                     enum_name(s.experience().adv_estimator), word_or_null(found.mean), word_or_null(found.deviation),
                     s.experience().whitens());
}
std::string policy_keys(const AlgorithmSetting& s) {
  return fmt::format("actor_train.pg_variant = {}, importance_sampling = {}",
                     enum_name(s.config.actor_train.policy.pg_variant), enum_name(s.loss().importance_sampling));
}
std::string mode_keys(const AlgorithmSetting& s) {
  return fmt::format("loss_agg_mode = {}", enum_name(s.mode()));
}
std::string kl_keys(const AlgorithmSetting& s) {
  return fmt::format("use_kl_loss = {}, add_token_level_kl = {}, kl_penalty = {}", s.loss().use_kl_loss,
                     s.experience().add_token_level_kl, enum_name(s.experience().kl_penalty));
}
std::string estimate_keys(const AlgorithmSetting& s) {
  return fmt::format("kl_loss_penalty = {}", enum_name(s.loss().kl_loss_penalty));
}
std::string clip_keys(const AlgorithmSetting& s) {
  const ClipRange clip = loss_settings(s.loss()).clip;
  return fmt::format("the ratio is kept in {}..{}", 1 - clip.low, 1 + clip.high);
}
std::string overlong_keys(const AlgorithmSetting& s) {
  return each_domain(s, "overlong_buffer.enable", [](const auto& reward) { return reward.overlong_buffer.enable; });
}
std::string episode_keys(const AlgorithmSetting& s) {
  return fmt::format("episode_statistics = {}", enum_name(s.experience().episode_statistics));
}
std::string filter_keys(const AlgorithmSetting& s) {
  return each_domain(s, "query_filter_config.type",
                     [](const auto& reward) { return enum_name(reward.query_filter_config.type); });
}
std::string lambda_keys(const AlgorithmSetting& s) {
  const auto number = [](const std::optional<double>& x) { return x ? fmt::format("{}", *x) : "null"; };
  return fmt::format("lambd_critic = {}, lambd_alpha = {}", number(s.experience().lambd_critic),
                     number(s.experience().lambd_alpha));
}
std::string positive_keys(const AlgorithmSetting& s) {
  return fmt::format("positive_loss_coef = {}", s.loss().positive_loss_coef);
}
std::string warmup_keys(const AlgorithmSetting& s) {
  return fmt::format("critic_warmup = {}", s.config.critic_warmup);
}
std::string update_keys(const AlgorithmSetting& s) {
  return s.has_one_update ? "a step makes one update" : "a step makes several updates";
}
std::string entropy_keys(const AlgorithmSetting& s) {
  return fmt::format("entropy_loss_coef = {}", s.loss().entropy_loss_coef);
}
std::string baseline_keys(const AlgorithmSetting& s) {
  return fmt::format("reward_baseline = {}", s.experience().reward_baseline);
}
std::string cispo_keys(const AlgorithmSetting& s) {
  return fmt::format("actor_train.cispo_epsilon_low = {}", s.config.actor_train.policy.cispo_epsilon_low);
}
std::string no_keys(const AlgorithmSetting&) {
  return "";
}

}  // namespace roll
