// Replacements for ROLL's environments that are Python classes, GEM's among them.
#include "environment/types.h"

#include <array>

namespace roll {

namespace {

constexpr const char* kCommand =
    "is an environment in Python: play it with a program that answers JSON lines, env_type: command "
    "(configs/agentic.md, An environment of your own)";
constexpr const char* kQuestions =
    "asks a question with one answer: such questions are rows, scored by rewards.<domain>.type: math_rule "
    "(configs/rewards.md), or where tools are called env_type: tools with env_config.questions (configs/agentic.md, "
    "Tools)";
constexpr const char* kSearch =
    "asks questions of a data set: env_type: tools with env_config.questions, and tools: [search] for its documents "
    "(configs/agentic.md, Tools)";
constexpr const char* kPrograms =
    "asks for a program: such tasks are rows, scored by rewards.<domain>.type: code_sandbox (configs/rewards.md)";
constexpr const char* kSokoban =
    "is Sokoban in Python: the game itself is env_type: sokoban, and your own server or tool before it is a program, "
    "env_type: command (configs/agentic.md, An environment of your own)";
constexpr const char* kAgent =
    "is an agent in Python: let it ask the policy over HTTP, env_type: openai (configs/agentic.md, An agent of your "
    "own)";

struct ForeignType {
  std::string_view begin;  // start of the name
  const char* reason;
};
// The first match decides.
constexpr auto kForeignTypes = std::to_array<ForeignType>(
    {{"game:GuessTheNumber", "is a game in Python; use the built-in env_type: guess_the_number"},
     {"rg:sokoban", kSokoban},
     {"sokoban_", kSokoban},
     {"roll_math", kQuestions},
     {"math:", kQuestions},
     {"roll_qa", kSearch},
     {"qa:", kSearch},
     {"roll_code", kPrograms},
     {"code:", kPrograms},
     {"game:", kCommand},
     {"rg:", kCommand},
     {"logic:", kCommand},
     {"webshop", kCommand},
     {"atropos_env", kCommand},
     {"openreward_env",
      "is an environment in Python with tools: play it with a program that declares the tools, env_type: command "
      "(configs/agentic.md, An environment of your own)"},
     {"rock_tb_native_env", kAgent},
     {"deepeyes", "shows images, but policies here read only text"}});

}  // namespace

std::string why_foreign(const Chosen<EnvironmentType>&, std::string_view name) {
  for (const auto& [begin, reason] : kForeignTypes)
    if (name.starts_with(begin)) return reason;
  return "";
}

}  // namespace roll
