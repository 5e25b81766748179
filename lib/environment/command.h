// An environment that is a program of the user: started once, kept alive, asked by JSON lines.
#pragma once

#include <memory>
#include <string>

#include "environment/types.h"

namespace roll {

/// Each line in is a question, which is answered with one line of at most 1 MiB before the next comes; "id" is the
/// question's and may be left out:
///   {"id", "method": "reset", "seed", "config"}  ->  {"id", "observation"[, "instruction", "tools"]}
///   {"id", "method": "step", "message"}          ->  {"id", "observation", "reward", "done"[, "valid", "success"]}
///   {"id", "method": "close"}                    ->  {"id"}
/// Of a program that declares tools, as OpenAI's API and chat templates take them, a turn's calls are read here. Those
/// that can be made are asked as one step, "tool_calls": [{"name", "arguments"}], and have one text each in its
/// "answers" (the observation may be left out then); others are answered "Error: ...", and not asked.
/// Standard error is for people. Whatever else comes is an EnvironmentFailed with the last that it said there: the
/// program is killed with all that it started, and started again at the next reset. UserError: no program.
std::unique_ptr<Environment> make_command_environment(const EnvironmentArgs& args, const std::string& where);

/// UserError: a program that is not there, or may not be executed.
void check_command(const EnvironmentArgs& args, const std::string& where);

}  // namespace roll
