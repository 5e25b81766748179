// Settings of environments, custom_envs.<tag>, with ROLL's keys. For the environments, lib/collect and lib/train.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/range.h"
#include "config/secret.h"
#include "environment/tool_calls.h"
#include "environment/types.h"

namespace roll {

enum class ToolKind { kCalculator, kPython, kSearch };
constexpr auto names_of(ToolKind) {
  return std::to_array<Named<ToolKind>>(
      {{ToolKind::kCalculator, "calculator"}, {ToolKind::kPython, "python"}, {ToolKind::kSearch, "search"}});
}

/// ROLL's classes that play environments: what the prompt of a turn shows.
enum class EnvManager {
  kTurns,        // the whole conversation: a trajectory is one sequence
  kSteps,        // a new prompt per turn: agent_template with the last observations and actions
  kStepsConcat,  // a new prompt per turn, with the last observations only
};
constexpr auto names_of(EnvManager) {
  return std::to_array<Named<EnvManager>>({{EnvManager::kTurns, "TrajEnvManager"},
                                           {EnvManager::kSteps, "StepEnvManager"},
                                           {EnvManager::kStepsConcat, "StepConcatEnvManager"}});
}

/// Settings of one environment; each type reads its own keys.
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

  template <class V>
  void fields(V& v) {
    v("env_instruction", env_instruction,
      "what is said before the first observation; null: the type's own; empty: nothing");
    v("action_pattern", action_pattern, "PCRE2 expression whose last group is the action in the model's message");
    v("action_lookup", action_lookup, "number of an action: its name; empty: the type's own");
    v("grid_lookup", grid_lookup, "number of a cell's content: its symbol; empty: the type's own");
    v("grid_vocab", grid_vocab, "symbol: its meaning, for the instruction; empty: the type's own");
    v("format_penalty", format_penalty, "reward of a message without an action; null: that of the env manager",
      within(-1'000'000, 1'000'000));
    v("max_steps", max_steps, "custom_envs.<tag>.max_steps decides; here it may be repeated", within(1, 100'000));
    v("size", size, "frozen_lake: cells of a side", within(2, 32));
    v("p", p, "frozen_lake: share of cells that are no hole", within(0.1, 1));
    v("is_slippery", is_slippery, "frozen_lake: two of three moves go aside");
    v("dim_room", dim_room, "sokoban: rows and columns, walls included", within(5, 32));
    v("num_boxes", num_boxes, "sokoban: boxes to push", within(1, 16));
    v("search_depth", search_depth, "sokoban: steps by which a level is played backwards when it is made",
      within(1, 10'000));
    v("tools", tools, "tools: which may be called");
    v("tool_calls", tool_calls,
      "tools, command, plugin, openai: how the model writes calls: marked, behind its family's mark (Qwen, GLM-4.5, "
      "Mistral, Gemma 4, Phi-4-mini, Granite, OLMo 3), or llama3 or glm4, which have none");
    v("tool_pattern", tool_pattern,
      "tools, command, plugin: PCRE2 expression of a call, whose groups are the name and the arguments as JSON; null: "
      "as tool_calls says");
    v("show_tools", show_tools,
      "tools, command, plugin: the chat template is given their schemas; false: the model knows them");
    v("questions", questions, "tools: JSON lines with question and answer; null: arithmetic from seeds");
    v("documents", documents, "tools: JSON lines with text and perhaps title, for search");
    v("num_results", num_results, "tools: documents that search gives", within(1, 100));
    v("document_length", document_length, "tools: bytes that search gives of a document", within(1, 1'000'000));
    v("python", python, "tools, python: the Python that runs programs, or the class: a path, or a name on PATH");
    v("python_class", python_class,
      "python: FILE.py:CLASS or module.Class with Gymnasium's reset() and step(); made with the keys of `config`");
    v("min_number", min_number, "guess_the_number: the least secret; tools: the least number of arithmetic",
      within(-1'000'000, 1'000'000));
    v("max_number", max_number, "guess_the_number: the greatest secret; tools: the greatest number of arithmetic",
      within(-1'000'000, 1'000'000));
    v("command", command,
      "command: program and arguments, which answers JSON lines (environment/command.h); openai: an agent, which takes "
      "sessions; empty: agents run elsewhere");
    v("sandbox", sandbox,
      "command, python: its programs have no network and no files but those that `command` or `python_class` names "
      "(SECURITY.md), or the run "
      "does not begin");
    v("memory_mb", memory_mb, "with sandbox: MiB of memory of a program and of all that it starts; null: 4096",
      within(64, 1 << 20));
    v("library", library, "plugin: path of the shared library");
    v("name", name, "plugin: the name it was given in ROLL_ENVIRONMENT(name, class)");
    v("timeout_s", timeout_s,
      "command, python, tools: seconds that an answer may take; openai: between two requests of a session",
      above_to(0, 86400));
    v("world_size", world_size,
      "command, python, openai: how many of it run, each of which plays a level at a time; tools, plugin: threads; on "
      "each "
      "rank that samples",
      within(1, 4096));
    v("addresses", addresses,
      "command: host:port of `roll serve-environment` elsewhere, instead of `command`; programs are spread over them");
    v("config", config,
      "command, plugin, openai: what it is told, a program with each level; python: keywords of the class");
    v("host", host, "openai: the address that listens for agents");
    v("port", port, "openai: where; ranks that sample take the next ones; 0: free ones, which the log names",
      within(0, 65535));
    v("api_key", api_key,
      "openai: what agents must send (Authorization: Bearer ...); null: one that only `command` knows");
    v.noted({"render_mode", "use_thread_lock", "special_token_list", "seed", "map_seed"},
            "levels come from named seeds, as text");
  }
};

/// Settings of one tag's trajectories.
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

  /// Returns the manager that env_manager_cls ends with; nullopt if it is unknown.
  std::optional<EnvManager> manager() const;
  /// Returns true if each turn has a new prompt.
  bool has_contexts() const { return manager() != EnvManager::kTurns; }

  template <class V>
  void fields(V& v) {
    v("env_type", env_type, "what is played");
    v("env_manager_cls", env_manager_cls,
      "ROLL's class path; TrajEnvManager: all turns are one sequence; StepEnvManager, StepConcatEnvManager: each turn "
      "is asked with a prompt of its own");
    v("max_steps", max_steps, "turns of a trajectory; what is not over by then is cut", within(1, 100'000));
    v("max_tokens_per_step", max_tokens_per_step, "longest turn of the model in tokens", token_range());
    v("history_length", history_length, "StepEnvManager: observations that a turn is shown, the current one among them",
      within(1, 100'000));
    v("max_seconds", max_seconds, "a trajectory that takes longer is cut; null: it may", above_to(0, 86400));
    v("agent_system_template", agent_system_template, "the system message; null or empty: none");
    v("agent_template", agent_template,
      "the user's message of each turn, with {observation}, {turn_idx}, {actions_left}, {max_response_length}; of "
      "StepEnvManager also with {env_instruction}, {history}, {history_length}, {step_count}, {current_step} and "
      "{current_observation}");
    v("env_config", env_config, "the environment itself");
    v.noted({"use_thread_lock", "max_env_step_concurrent", "agent_runner_cls"},
            "environments are played on threads of their own");
    v.refused({"tool_wrapper"}, "the built-in env_type: tools has calculator, python and search; remove it");
  }
};

/// Creates the environment of a tag; errors name its keys. UserError: invalid arguments.
std::unique_ptr<Environment> make_environment(const EnvironmentConfig& config, const std::string& tag);

}  // namespace roll
