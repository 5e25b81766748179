#include "environment/config.h"

#include "config/keys.h"

namespace roll {

void EnvironmentArgs::fields(Keys& v) {
  v("env_instruction", env_instruction,
    "instruction before the first observation; null: the default of env_type; empty: none");
  v("action_pattern", action_pattern, "PCRE2 expression whose last group is the action in the model's message");
  v("action_lookup", action_lookup, "names of actions, by number; empty: the defaults of env_type");
  v("grid_lookup", grid_lookup, "symbols of cells, by number of their content; empty: the defaults of env_type");
  v("grid_vocab", grid_vocab, "meanings of symbols, for the instruction; empty: the defaults of env_type");
  v("format_penalty", format_penalty, "reward of a message without an action; null: that of the env manager",
    within(-1'000'000, 1'000'000));
  v("max_steps", max_steps, "may repeat custom_envs.<tag>.max_steps, which counts", within(1, 100'000));
  v("size", size, "frozen_lake: cells per side", within(2, 32));
  v("p", p, "frozen_lake: share of cells without a hole", within(0.1, 1));
  v("is_slippery", is_slippery, "frozen_lake: two of three moves slip to a side");
  v("dim_room", dim_room, "sokoban: rows and columns, walls included", within(5, 32));
  v("num_boxes", num_boxes, "sokoban: boxes to push", within(1, 16));
  v("search_depth", search_depth, "sokoban: steps that a new level is played backwards from its solution",
    within(1, 10'000));
  v("tools", tools, "tools: the tools that the model may call");
  v("tool_calls", tool_calls,
    "tools, command, plugin, openai: how the model writes calls: marked, after its family's mark (Qwen, GLM-4.5, "
    "Mistral, Gemma 4, Phi-4-mini, Granite, OLMo 3), or llama3 or glm4, without a mark");
  v("tool_pattern", tool_pattern,
    "tools, command, plugin: PCRE2 expression of a call, whose groups are the name and the arguments as JSON; null: "
    "tool_calls applies");
  v("show_tools", show_tools,
    "tools, command, plugin: gives the schemas of the tools to the chat template; false: the model already knows them");
  v("questions", questions,
    "tools: file of JSON lines with question and answer; null: arithmetic questions from seeds");
  v("documents", documents, "tools: file of JSON lines with text, and title if wanted, for search");
  v("num_results", num_results, "tools: documents that search returns", within(1, 100));
  v("document_length", document_length, "tools: bytes of a document that search returns", within(1, 1'000'000));
  v("python", python,
    "tools, python: Python interpreter for the model's programs or the class: a path, or a name on PATH");
  v("python_class", python_class,
    "python: FILE.py:CLASS or module.Class with Gymnasium's reset() and step(); made with the keys of `config`");
  v("min_number", min_number, "guess_the_number: smallest secret; tools: smallest number in arithmetic questions",
    within(-1'000'000, 1'000'000));
  v("max_number", max_number, "guess_the_number: largest secret; tools: largest number in arithmetic questions",
    within(-1'000'000, 1'000'000));
  program_fields(v);
}

void EnvironmentArgs::program_fields(Keys& v) {
  v("command", command,
    "command: program that answers JSON lines (environment/command.h), with its arguments; openai: agent program that "
    "takes sessions; empty: agents run elsewhere");
  v("sandbox", sandbox,
    "command, python: runs the programs without network, and with only the files that `command` or `python_class` "
    "names (SECURITY.md); an error if this machine cannot");
  v("memory_mb", memory_mb, "with sandbox: MiB of memory for a program and its child processes; null: 4096",
    within(64, 1 << 20));
  v("library", library, "plugin: path of the shared library");
  v("name", name, "plugin: name of the environment in ROLL_ENVIRONMENT(name, class)");
  v("timeout_s", timeout_s,
    "command, python, tools: seconds allowed for an answer; openai: seconds between two requests of a session",
    above_to(0, 86400));
  v("world_size", world_size,
    "command, python, openai: number of programs, each playing one level at a time; tools, plugin: number of threads; "
    "on each rank that samples",
    within(1, 4096));
  v("addresses", addresses,
    "command: host:port of each `roll serve-environment`, instead of `command`; programs are distributed over them");
  v("config", config,
    "command, plugin, openai: settings for the environment, sent to a program with each level; python: keyword "
    "arguments of the class");
  v("host", host, "openai: address on which the server listens for agents");
  v("port", port,
    "openai: port for agents; more ranks that sample take the next ports; 0: free ports, named in the log",
    within(0, 65535));
  v("api_key", api_key,
    "openai: key that agents must send (Authorization: Bearer ...); null: a random key that only `command` gets");
  v.noted({"render_mode", "use_thread_lock", "special_token_list", "seed", "map_seed"},
          "levels come from seeds, and are text");
}

void EnvironmentConfig::fields(Keys& v) {
  v("env_type", env_type, "type of the environment that is played");
  v("env_manager_cls", env_manager_cls,
    "ROLL's class path; TrajEnvManager: all turns are one sequence; StepEnvManager, StepConcatEnvManager: each turn "
    "has a new prompt");
  v("max_steps", max_steps, "most turns of a trajectory; longer ones are cut", within(1, 100'000));
  v("max_tokens_per_step", max_tokens_per_step, "longest turn of the model in tokens", token_range());
  v("history_length", history_length, "StepEnvManager: observations in the prompt of a turn, the current one included",
    within(1, 100'000));
  v("max_seconds", max_seconds, "most seconds of a trajectory; longer ones are cut; null: no limit",
    above_to(0, 86400));
  v("agent_system_template", agent_system_template, "system message; null or empty: none");
  v("agent_template", agent_template,
    "user message of each turn, with {observation}, {turn_idx}, {actions_left}, {max_response_length}; for "
    "StepEnvManager also with {env_instruction}, {history}, {history_length}, {step_count}, {current_step} and "
    "{current_observation}");
  v("env_config", env_config, "settings of the environment");
  v.noted({"use_thread_lock", "max_env_step_concurrent", "agent_runner_cls"}, "environments run on separate threads");
  v.refused({"tool_wrapper"}, "the built-in env_type: tools has calculator, python and search; remove it");
}

}  // namespace roll
