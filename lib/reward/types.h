// Table of the reward types, such as math_rule and llm_judge. A type is a struct with its own configuration keys and a
// factory, in a header included below, and one row of the table here. Loading, error texts, `roll keys`, the resolved
// configuration and the flags of `roll score` follow from the row.
//
// rewards.<domain> in a configuration holds the own keys of the chosen type, besides the keys common to all types
// (config.h). Two types may own keys of the same name. A key that only other types own is refused.
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

/// One type; Args is the struct with its own keys.
template <class Args>
struct RewardRow {
  const char* name;                                // value of the key `type`
  std::array<std::string_view, 4> worker_classes;  // ROLL's class names for this type; unused elements are empty
  std::unique_ptr<RewardFunction> (*make)(const Args& args, const RuleContext& context);  // the factory
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
                                {.grades_choices = true, .repetition_penalty = -0.5, .favours_long_responses = true}},
    RewardRow<MultipleChoiceArgs>{"multiple_choice", {"MultipleChoiceBoxedRuleRewardWorker"}, make_multiple_choice},
    RewardRow<GeneralValArgs>{"general_val", {"GeneralValRuleRewardWorker"}, make_general_val},
    RewardRow<IfevalArgs>{"ifeval", {"GeneralRuleRewardWorker"}, make_ifeval, {.repetition_penalty = -0.5}},
    RewardRow<PluginRuleArgs>{"plugin", {}, make_plugin_rule},
    RewardRow<EnvironmentRuleArgs>{"environment", {}, make_environment_rule},
};

/// Declared only for its result type.
template <class... Args>
std::variant<Args...> any_reward(const std::tuple<RewardRow<Args>...>& rows);

/// The chosen type with its keys' values: a std::variant of the Args structs of all types.
using RewardType = decltype(any_reward(kRewardTypes));

/// Lets the key `type` be read like an enum (base/names.h): all() returns the names of all types; read() sets `out` to
/// the type with this name and default values, and returns false if there is none.
template <>
struct Words<RewardType> {
  static std::vector<std::string> all();
  static bool read(std::string_view name, RewardType& out);
};
/// Returns the name of the type, the value of the key `type`.
std::string_view enum_name(const RewardType& type);

/// Returns the type, with default values, for a class path of ROLL's, such as "a.b.MathRuleRewardWorker"; only its last
/// name counts. nullopt if no type has this class.
std::optional<RewardType> type_of_worker_class(std::string_view path);

/// Returns whether a model in this program must run before the type can score a response: reward_model, and llm_judge
/// with such a judge.
bool needs_model(const RewardType& type);

/// Calls the type's factory. Throws UserError if keys of the type are missing or contradict each other.
std::unique_ptr<RewardFunction> make_rule(const RewardType& type, const RuleContext& context);

/// Returns the type's default time limit and number of retries, which may depend on its own keys.
Patience usual_patience(const RewardType& type);
/// Returns the properties of the type that its row has.
RewardTraits reward_traits(const RewardType& type);

// The next four functions are for fields() of the structs that hold a type. `v`: reader or writer of keys
// (config/keys.h).

/// Sets `type` to python if none is chosen and the keys being read have a `python`.
void infer_type(std::optional<RewardType>& type, const Keys& v);

/// Passes the own keys of the chosen type to `v`. If none is chosen, passes the own keys of all types and discards
/// their values, so that only the missing `type` is reported as an error.
void own_fields(std::optional<RewardType>& type, Keys& v);

/// Makes `v` refuse keys that only types other than the chosen one own. Does nothing if none is chosen.
void refuse_foreign_keys(const std::optional<RewardType>& type, Keys& v);

/// Makes `v` refuse the own keys of every type, for a domain whose types are in `terms`.
void refuse_own_keys(Keys& v);

}  // namespace roll
