// Registry of reward types. A new type is one file (arguments with fields(), and a factory) and one row here. Loading,
// error texts, `roll keys`, the resolved configuration and the flags of `roll score` follow from the row.
//
// rewards.<domain> holds a type's own keys together with the common keys. Two types may own keys of the same name. Keys
// that the chosen type does not own are refused.
#pragma once

#include <fmt/format.h>

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "base/names.h"
#include "config/walk.h"
#include "reward/choice/choice_rule.h"
#include "reward/code/code_sandbox.h"
#include "reward/command.h"
#include "reward/environment_rule.h"
#include "reward/exact_match.h"
#include "reward/ifeval_rule.h"
#include "reward/llm_judge.h"
#include "reward/math_rule.h"
#include "reward/plugin_rule.h"
#include "reward/python_function.h"
#include "reward/regex_rule.h"
#include "reward/reward_model.h"

namespace roll {

template <class Args>
struct RewardRow {
  const char* name;
  std::array<std::string_view, 4> worker_classes;  // class names in ROLL's paths that mean this type
  std::unique_ptr<RewardFunction> (*make)(const Args& args, const RuleContext& context);
  RewardTraits traits{};
};

inline constexpr std::tuple kRewardTypes{
    RewardRow<MathRuleArgs>{"math_rule", {"MathRuleRewardWorker"}, make_math_rule},
    RewardRow<ExactMatchArgs>{"exact_match", {}, make_exact_match},
    RewardRow<RegexArgs>{"regex", {}, make_regex},
    RewardRow<CommandArgs>{"command", {}, make_command},
    RewardRow<PythonFunctionArgs>{"python", {}, make_python_function},
    RewardRow<CodeSandboxArgs>{"code_sandbox", {"CodeSandboxRewardWorker"}, make_code_sandbox},
    RewardRow<RewardModelArgs>{"reward_model", {}, make_reward_model},
    RewardRow<LlmJudgeArgs>{"llm_judge", {"LLMJudgeRewardWorker"}, make_llm_judge},
    RewardRow<CrossThinkQaArgs>{"crossthinkqa",
                                {"CrossThinkQARuleRewardWorker"},
                                make_crossthinkqa,
                                {.grades_choices = true, .repetition_penalty = -0.5, .wants_long_ones = true}},
    RewardRow<MultipleChoiceArgs>{"multiple_choice", {"MultipleChoiceBoxedRuleRewardWorker"}, make_multiple_choice},
    RewardRow<GeneralValArgs>{"general_val", {"GeneralValRuleRewardWorker"}, make_general_val},
    RewardRow<IfevalArgs>{"ifeval", {"GeneralRuleRewardWorker"}, make_ifeval, {.repetition_penalty = -0.5}},
    RewardRow<PluginRuleArgs>{"plugin", {}, make_plugin_rule},
    RewardRow<EnvironmentRuleArgs>{"environment", {}, make_environment_rule},
};

template <class... Args>
std::variant<Args...> one_of(const std::tuple<RewardRow<Args>...>& rows);

/// The chosen type with its arguments; its name in YAML.
using RewardType = decltype(one_of(kRewardTypes));

template <>
struct Words<RewardType> {
  static std::vector<std::string> all();
  static bool read(std::string_view name, RewardType& out);
};
/// Returns the type's name in YAML.
std::string_view name_of(const RewardType& type);

/// Returns the type for ROLL's worker class; nullopt if there is none.
std::optional<RewardType> type_of_worker_class(std::string_view path);

/// Returns whether a model in this program must run before the type can score a response.
bool needs_model(const RewardType& type);

/// Calls the type's factory. UserError: arguments are missing or contradict each other.
std::unique_ptr<RewardFunction> make_rule(const RewardType& type, const RuleContext& context);

/// Returns the type's default time limit and number of retries.
Patience usual_patience(const RewardType& type);
RewardTraits traits_of(const RewardType& type);

/// Own key -> names of the types that own it.
using KeyOwners = std::map<std::string, std::set<std::string_view>, std::less<>>;
KeyOwners own_key_owners();

/// A visitor that passes on each own key once, with its owners' names before the description.
template <class V>
class EachOwnKeyOnce {
 public:
  explicit EachOwnKeyOnce(V& v) : v_(v) {}

  template <class M>
  void operator()(const char* key, M& member, const char* doc, const Range& range = finite()) {
    const auto owners = owners_.extract(key);
    if (owners) v_(key, member, fmt::format("type {}: {}", fmt::join(owners.mapped(), ", "), doc).c_str(), range);
  }
  void bool_or_text(const char* key, std::string& member, const char* doc) { v_.bool_or_text(key, member, doc); }
  void noted(KeyList keys, const char* reason) { v_.noted(keys, reason); }
  void refused(KeyList keys, const char* reason) { v_.refused(keys, reason); }
  void refused_above_one(KeyList keys, const char* reason) { v_.refused_above_one(keys, reason); }

 private:
  V& v_;
  KeyOwners owners_ = own_key_owners();
};

/// Sets type python if no type is chosen and `v` has a key `python`.
template <class V>
void infer_type(std::optional<RewardType>& type, V& v) {
  if constexpr (requires { v.has("python"); })
    if (!type && v.has("python")) type = PythonFunctionArgs();
}

/// Visits the own keys of the chosen type. Without a choice it visits those of all types, so that the missing type is
/// the only error.
template <class V>
void own_fields(std::optional<RewardType>& type, V& v) {
  if (type) return std::visit([&](auto& args) { args.fields(v); }, *type);
  EachOwnKeyOnce<V> once(v);
  const auto show = [&]<class Args>(const RewardRow<Args>&) {
    Args args;
    args.fields(once);
  };
  std::apply([&](const auto&... rows) { (show(rows), ...); }, kRewardTypes);
}

/// Refuses own keys of types other than the chosen one.
template <class V>
void refuse_foreign_keys(const std::optional<RewardType>& type, V& v) {
  if (!type) return;
  for (const auto& [key, owners] : own_key_owners())
    if (!owners.contains(name_of(*type)))
      v.refused({key.c_str()}, fmt::format("is a key of type {}, and the type here is {}; remove it",
                                           fmt::join(owners, " and "), name_of(*type))
                                   .c_str());
}

/// Refuses own keys of all types, for a domain with `terms`.
template <class V>
void refuse_own_keys(V& v) {
  for (const auto& [key, owners] : own_key_owners())
    v.refused({key.c_str()}, fmt::format("is a key of type {}, and the types here are in terms; move it to its term",
                                         fmt::join(owners, " and "))
                                 .c_str());
}

}  // namespace roll
