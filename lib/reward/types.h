// Registry of reward types. A new type is one file (arguments with fields(), and a factory) and one row here. Loading,
// error texts, `roll keys`, the resolved configuration and the flags of `roll score` follow from the row.
//
// rewards.<domain> holds a type's own keys together with the common keys. Two types may own keys of the same name. Keys
// that the chosen type does not own are refused.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "base/names.h"
#include "config/keys.h"
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
std::variant<Args...> any_reward(const std::tuple<RewardRow<Args>...>& rows);

/// The chosen type with its arguments; its name in YAML.
using RewardType = decltype(any_reward(kRewardTypes));

template <>
struct Words<RewardType> {
  static std::vector<std::string> all();
  static bool read(std::string_view name, RewardType& out);
};
/// Returns the type's name in YAML.
std::string_view enum_name(const RewardType& type);

/// Returns the type for ROLL's worker class; nullopt if there is none.
std::optional<RewardType> type_of_worker_class(std::string_view path);

/// Returns whether a model in this program must run before the type can score a response.
bool needs_model(const RewardType& type);

/// Calls the type's factory. UserError: arguments are missing or contradict each other.
std::unique_ptr<RewardFunction> make_rule(const RewardType& type, const RuleContext& context);

/// Returns the type's default time limit and number of retries.
Patience usual_patience(const RewardType& type);
RewardTraits reward_traits(const RewardType& type);

/// Takes a `python` among the keys that are read for the type, where none is chosen.
void infer_type(std::optional<RewardType>& type, const Keys& v);

/// Visits the chosen type's own keys; while none is chosen, those of all types, so that only the missing choice is an
/// error.
void own_fields(std::optional<RewardType>& type, Keys& v);

/// Refuses own keys of other types than the chosen one.
void refuse_foreign_keys(const std::optional<RewardType>& type, Keys& v);

/// Refuses own keys of every type, where the types are in `terms`.
void refuse_own_keys(Keys& v);

}  // namespace roll
