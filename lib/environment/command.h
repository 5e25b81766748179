// Environment type `command`: a program of the user, which stays running and plays level after level. It reads and
// writes lines of JSON. For types.cpp.
#pragma once

#include <memory>
#include <string>

#include "environment/types.h"

namespace roll {

/// Creates an environment whose functions wait for the program's answers. Protocol: each line that the program reads is
/// a question, which it answers with one line of at most 1 MiB. The next question comes only after the answer. "id" in
/// an answer equals "id" in the question, or is left out. [ ] marks optional fields:
///   {"id", "method": "reset", "seed", "config"}  ->  {"id", "observation"[, "instruction", "tools"]}
///   {"id", "method": "step", "message"}          ->  {"id", "observation", "reward", "done"[, "valid", "success"]}
///   {"id", "method": "close"}                    ->  {"id"}
/// If a program declares tools, in the form of OpenAI's API, roll parses the calls in each message. Valid calls are
/// part of the step question, as "tool_calls": [{"name", "arguments"}]. The program answers them in "answers", one text
/// for each, and may leave out the observation. roll itself answers invalid calls "Error: ..."; a message with only
/// invalid calls is not sent. The program may write anything to standard error. If it gives no valid answer within
/// timeout_s, it is killed with its descendants, and starts again at the next reset(). EnvironmentFailed is then
/// thrown, with the end of standard error. `where`: prefix of configuration keys in error messages. Throws UserError if
/// the keys name neither a program nor addresses, or both.
std::unique_ptr<Environment> make_command_environment(const EnvironmentArgs& args, const std::string& where);

/// Throws UserError if the program is missing, not executable or cannot run in the sandbox, or if world_size programs
/// need too many file descriptors. With addresses, throws UserError as check_remote() (remote_peer.h) does.
void check_command(const EnvironmentArgs& args, const std::string& where);

}  // namespace roll
