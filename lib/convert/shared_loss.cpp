// Converts losses for all trainers: ratio ranges, KLs, the group filter, the optimizer.
#include <fmt/format.h>

#include <string_view>

#include "base/nearest.h"
#include "convert/table.h"

namespace roll {

void set_clip(Conversion& conversion, const std::string& low, const std::string& high, const std::string& c,
              const std::string& origin) {
  conversion.set("use_pg_clip_range", "true", origin);
  conversion.set("pg_clip_low", low, origin);
  conversion.set("pg_clip_high", high, origin);
  if (c.empty()) return;
  conversion.set("dual_clip_loss", "true", origin);
  conversion.set("dual_clip_c", c, origin);
}

void set_cispo_range(Conversion& conversion, const char* low, const char* high) {
  const std::string range = "actor_train.cispo_epsilon_";
  conversion.set(range + "low", conversion.number(low) > 1 ? "1.0" : conversion.text(low), conversion.origin(low));
  conversion.set_from(range + "high", high);
}

void require_same(const Conversion& conversion, std::initializer_list<std::pair<const char*, const char*>> keys) {
  for (const auto& [key, policy] : keys) {
    if (!conversion.is_set(key)) continue;
    const std::string value = conversion.text(key), policy_value = conversion.text(policy);
    if (value.starts_with("${") || is_same(value, policy_value)) continue;
    throw conversion.refused(
        key, fmt::format("the policy's {} is {}, and roll has one setting for both; give both the same value", policy,
                         policy_value.empty() ? "not set" : policy_value));
  }
}

void require_adam(const Conversion& conversion, const char* key) {
  const std::string name = lower_ascii(conversion.text(key));
  const bool is_adam = name.empty() || name == "adam" || name.starts_with("adamw") || name == "fusedadam";
  if (!is_adam || name.find("8bit") != name.npos || name.find("4bit") != name.npos)
    throw conversion.refused(key,
                             "not a supported optimizer; convert with AdamW (and see training_args.optimizer: muon)");
}

void set_last_rate(Conversion& conversion, const std::string& type, const char* end, bool is_share,
                   const std::string& role) {
  if (conversion.text(end).empty() || conversion.number(end) == 0 || type.starts_with("constant")) return;
  if (!type.starts_with("cosine"))
    throw conversion.refused(end, "only a cosine schedule can end above 0: give it as 0");
  const std::string args = role + ".training_args.";
  conversion.set(args + "lr_scheduler_type", "cosine_with_min_lr", conversion.origin(end));
  conversion.set_from(args + "lr_scheduler_kwargs." + (is_share ? "min_lr_rate" : "min_lr"), end);
}

void set_critic_optimizer(Conversion& conversion) {
  constexpr std::string_view kPolicyPrefix = "actor_train.training_args.";
  for (const std::string& path : conversion.draft.paths()) {
    if (!path.starts_with(kPolicyPrefix) || path.find("batch_size") != path.npos) continue;
    const std::string critic_path = "critic.training_args." + path.substr(kPolicyPrefix.size());
    if (!conversion.draft.find(critic_path))
      conversion.set(critic_path, std::string(conversion.draft.find(path)->value), "as the policy's");
  }
}

void set_kl_loss(Conversion& conversion, const char* use, const char* coefficient, const char* type) {
  if (!conversion.is_true(use)) return;
  if (conversion.number(coefficient) == 0)
    return conversion.set("use_kl_loss", "false", conversion.origin(coefficient) + " is 0");
  conversion.set("use_kl_loss", "true", conversion.origin(use));
  conversion.set_from("kl_loss_coef", coefficient);
  set_kl_loss_penalty(conversion, type);
}

namespace {

/// Returns roll's name of a KL estimator; empty if it has none.
std::string our_kl_estimator(const std::string& type) {
  const auto is_one_of = [&](auto... names) { return ((type == names) || ...); };
  return is_one_of("k3", "low_var_kl") ? "k3"
         : is_one_of("k1", "kl")       ? "kl"
         : is_one_of("k2", "mse")      ? "mse"
         : is_one_of("abs")            ? "abs"
                                       : "";
}

}  // namespace

void set_reward_kl(Conversion& conversion, const char* coefficient, const char* type) {
  if (conversion.number(coefficient) == 0)
    return conversion.set("add_token_level_kl", "false", conversion.origin(coefficient) + " is 0");
  std::string name = conversion.text(type);
  if (name.ends_with('+')) name.pop_back();  // '+' changes only the gradient
  const std::string our_key = our_kl_estimator(name);
  if (our_key.empty()) throw conversion.refused(type, "not a supported KL estimator; use k1, k2, k3 or abs");
  conversion.set("add_token_level_kl", "true", conversion.origin(coefficient));
  conversion.set("kl_penalty", our_key, conversion.origin(type));
  conversion.set_from("init_kl_coef", coefficient);
}

void set_kl_loss_penalty(Conversion& conversion, const char* type) {
  const std::string name = conversion.text(type);
  const bool is_plus = name.ends_with('+');
  const std::string our_key = our_kl_estimator(is_plus ? name.substr(0, name.size() - 1) : name);
  if (our_key.empty()) throw conversion.refused(type, "not a supported KL estimator; use k1, k2, k3 or abs");
  if (is_plus) return conversion.set("kl_loss_penalty", "mse", conversion.origin(type) + ", whose gradient is k2's");
  if (our_key != "k3") conversion.set("kl_loss_penalty", our_key, conversion.origin(type));
}

void set_group_filter(Conversion& conversion, const std::string& origin) {
  conversion.set("rewards.math_rule.query_filter_config.type", "mean_filter", origin);
  conversion.set("is_use_additional_prompts", "true", "additional prompts replace dropped groups");
}

void set_mtp(Conversion& conversion, const std::string& role, const char* factor) {
  if (conversion.number(factor) != 0)
    conversion.set_from(role + ".strategy_args.strategy_config.mtp_loss_coef", factor);
}

}  // namespace roll
