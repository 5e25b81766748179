// Configuration keys of environments: the entries of custom_envs, named as in ROLL. A tag is the name of an entry, and
// the domain of its data rows. Used by the environments, lib/collect and lib/train.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/secret.h"
#include "environment/tool_calls.h"
#include "environment/types.h"

namespace roll {

class Keys;

/// Built-in tools of the environment type `tools`.
enum class ToolKind { kCalculator, kPython, kSearch };
constexpr auto enum_names(ToolKind) {
  return std::to_array<Named<ToolKind>>(
      {{ToolKind::kCalculator, "calculator"}, {ToolKind::kPython, "python"}, {ToolKind::kSearch, "search"}});
}

/// ROLL's classes that play environments. They decide which part of the level the prompt of a turn shows.
enum class EnvManager {
  kTurns,        // the whole conversation: a trajectory is one sequence
  kSteps,        // a new prompt per turn: agent_template with the last observations and actions
  kStepsConcat,  // a new prompt per turn, with the last observations only
};
constexpr auto enum_names(EnvManager) {
  return std::to_array<Named<EnvManager>>({{EnvManager::kTurns, "TrajEnvManager"},
                                           {EnvManager::kSteps, "StepEnvManager"},
                                           {EnvManager::kStepsConcat, "StepConcatEnvManager"}});
}

/// Keys of env_config: settings of the environment itself. Each type uses only some keys; fields() describes each.
struct EnvironmentArgs {
  std::optional<std::string> env_instruction;
  std::string action_pattern = "<answer>(.*?)</answer>";
  std::map<std::string, std::string> action_lookup;
  std::map<std::string, std::string> grid_lookup;
  std::map<std::string, std::string> grid_vocab;
  std::optional<double> format_penalty;
  std::optional<int64_t> max_steps;
  int64_t size = 4;
  double p = 0.8;
  bool is_slippery = true;
  std::vector<int64_t> dim_room{6, 6};
  int64_t num_boxes = 1;
  int64_t search_depth = 30;
  int64_t min_number = 1;
  int64_t max_number = 20;
  std::vector<ToolKind> tools;
  ToolCallForm tool_calls = ToolCallForm::kMarked;
  std::optional<std::string> tool_pattern, questions, documents;
  bool show_tools = true;
  std::string python = "python3";
  std::optional<std::string> python_class;
  int64_t num_results = 3, document_length = 1000;
  std::vector<std::string> command, addresses;
  bool sandbox = false;
  std::optional<int64_t> memory_mb;
  std::string library, name;
  double timeout_s = 10;
  int64_t world_size = 4;
  std::map<std::string, std::string> config;
  std::string host = "127.0.0.1";
  int64_t port = 0;
  Secret api_key;

  void fields(Keys& v);

 private:
  void program_fields(Keys& v);
};

/// Keys of an entry: how its trajectories are played. fields() describes each.
struct EnvironmentConfig {
  Chosen<EnvironmentType> env_type = "frozen_lake";
  std::optional<std::string> env_manager_cls;
  int64_t max_steps = 10;
  int64_t max_tokens_per_step = 128;
  int64_t history_length = 1;
  std::optional<double> max_seconds;
  std::optional<std::string> agent_system_template;
  std::string agent_template = "{observation}";
  EnvironmentArgs env_config;

  /// Returns the manager whose name env_manager_cls ends with; kTurns if the key is unset, nullopt if the name is
  /// unknown.
  std::optional<EnvManager> manager() const;
  /// Returns true if each turn has its own context: a new prompt, instead of a continued conversation.
  bool has_contexts() const { return manager() != EnvManager::kTurns; }

  void fields(Keys& v);
};

/// Creates the environment of an entry. Throws UserError if its keys are invalid; the error names the key below
/// custom_envs.<tag>.
std::unique_ptr<Environment> make_environment(const EnvironmentConfig& config, const std::string& tag);

}  // namespace roll
