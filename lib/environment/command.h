// Environment type `command`: a program of the user, started once, kept alive, and asked by JSON lines.
#pragma once

#include <memory>
#include <string>

#include "environment/types.h"

namespace roll {

/// Each input line is a question. The program answers it with one line of at most 1 MiB before the next question comes;
/// "id" is the question's and may be left out:
///   {"id", "method": "reset", "seed", "config"}  ->  {"id", "observation"[, "instruction", "tools"]}
///   {"id", "method": "step", "message"}          ->  {"id", "observation", "reward", "done"[, "valid", "success"]}
///   {"id", "method": "close"}                    ->  {"id"}
/// If a program declares tools, in the form of OpenAI's API, the calls of a turn are parsed here. Valid calls are asked
/// in one step, as "tool_calls": [{"name", "arguments"}], and get one text each in "answers" (the observation may be
/// left out then). Invalid calls are answered "Error: ...", without the program.
/// Standard error is for people. Any other output is an EnvironmentFailed with the end of standard error: the program
/// is killed with all that it started, and started again at the next reset. UserError: neither a program nor addresses,
/// or both.
std::unique_ptr<Environment> make_command_environment(const EnvironmentArgs& args, const std::string& where);

/// UserError: the program is missing, not executable or cannot run in the sandbox; an address or its secret is invalid;
/// or `world_size` needs too many descriptors.
void check_command(const EnvironmentArgs& args, const std::string& where);

}  // namespace roll
