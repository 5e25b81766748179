// Configuration keys of environments: the entries of the section custom_envs, with ROLL's names. A tag is the name of
// an entry, and the domain of its data rows. Used by the environments, lib/collect and lib/train.
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

/// ROLL's classes that play environments. The choice decides which turns of a level the prompt of a later turn shows.
enum class EnvManager {
  kTurns,        // the whole conversation: a trajectory is one sequence
  kSteps,        // a new prompt per turn, with the last observations and actions
  kStepsConcat,  // a new prompt per turn, with the last observations only
};
constexpr auto enum_names(EnvManager) {
  return std::to_array<Named<EnvManager>>({{EnvManager::kTurns, "TrajEnvManager"},
                                           {EnvManager::kSteps, "StepEnvManager"},
                                           {EnvManager::kStepsConcat, "StepConcatEnvManager"}});
}

/// Keys of env_config: settings of the environment itself. Each env_type uses only some keys; fields() (config.cpp)
/// describes each key for users.
struct EnvironmentArgs {
  // The games.
  std::optional<std::string> env_instruction;             // unset: the default of env_type; empty: no instruction
  std::string action_pattern = "<answer>(.*?)</answer>";  // PCRE2; the last group is the action
  std::map<std::string, std::string> action_lookup;       // names of actions, by number as text
  std::map<std::string, std::string> grid_lookup;         // symbols of cells, by number as text
  std::map<std::string, std::string> grid_vocab;          // meanings of symbols
  std::optional<double> format_penalty;                   // reward of a message without an action
  std::optional<int64_t> max_steps;                       // if set, must equal EnvironmentConfig::max_steps
  int64_t size = 4;                                       // frozen_lake: cells per side
  double p = 0.8;                                         // frozen_lake: share of cells without a hole
  bool is_slippery = true;                                // frozen_lake: two of three moves slip to a side
  std::vector<int64_t> dim_room{6, 6};                    // sokoban: rows and columns, walls included
  int64_t num_boxes = 1;                                  // sokoban: boxes and targets
  int64_t search_depth = 30;                              // sokoban: steps played backwards to make a level
  int64_t min_number = 1;   // guess_the_number, arithmetic questions of `tools`: smallest number
  int64_t max_number = 20;  // guess_the_number, arithmetic questions of `tools`: largest number

  // Tools, and Python.
  std::vector<ToolKind> tools;
  ToolCallForm tool_calls = ToolCallForm::kMarked;
  std::optional<std::string> tool_pattern;          // PCRE2 expression of a call; unset: tool_calls applies
  std::optional<std::string> questions, documents;  // paths of JSON lines (questions.h, search_index.h)
  bool show_tools = true;                           // the prompt shows the schemas of the tools
  std::string python = "python3";                   // interpreter for python_class and the tool `python`
  std::optional<std::string> python_class;          // env_type python: FILE.py:CLASS or module.Class
  int64_t num_results = 3;                          // documents in an answer of `search`
  int64_t document_length = 1000;                   // most bytes of a document in such an answer

  // The user's programs, classes and agents.
  std::vector<std::string> command;    // program and its arguments
  std::vector<std::string> addresses;  // host:port of programs on other hosts, instead of command
  bool sandbox = false;                // runs local programs in a sandbox
  std::optional<int64_t> memory_mb;    // MiB for a program in the sandbox; unset: 4096
  std::string library, name;           // plugin: path of the shared library; name in its ROLL_ENVIRONMENT
  double timeout_s = 10;   // most seconds for an answer, a call of the tool `python`, an agent's next request
  int64_t world_size = 4;  // number of programs or threads on each rank that samples
  std::map<std::string, std::string> config;  // settings that the program or class receives
  std::string host = "127.0.0.1";             // openai: address of the server for agents
  int64_t port = 0;                           // openai: port of that server, plus the data-parallel rank; 0: a free one
  Secret api_key;                             // openai: key of that server; empty: a random one

  void fields(Keys& v);

 private:
  void program_fields(Keys& v);
};

/// Keys of an entry: how its trajectories are played.
struct EnvironmentConfig {
  Chosen<EnvironmentType> env_type = "frozen_lake";
  std::optional<std::string> env_manager_cls;  // ROLL's class path, which ends with the name of an EnvManager
  int64_t max_steps = 10;                      // most turns of a trajectory
  int64_t max_tokens_per_step = 128;           // most tokens of a turn
  int64_t history_length = 1;                  // if has_contexts(): observations in a prompt, the current one included
  std::optional<double> max_seconds;           // most seconds of a trajectory; unset: no limit
  std::optional<std::string> agent_system_template;  // system message; unset or empty: none
  std::string agent_template = "{observation}";      // user message of each turn, with fields in { }
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
