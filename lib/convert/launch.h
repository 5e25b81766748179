// Finds the commands of a script that start a Python program, and the settings they pass, for `roll convert-config`;
// choose_launch() (convert.h) picks the command that starts a trainer. In all functions `origin` is the text's name in
// messages ("run.sh") and `reading` gives arguments and variables (shell/interpreter.h).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "convert/foreign.h"
#include "shell/interpreter.h"

namespace roll {

/// Command of a script that starts a program.
struct ForeignLaunch {
  std::string program;    // "verl.trainer.main_ppo", "examples/run.py", "trl grpo"; empty: keys came without a command
  std::string place;      // "run.sh:30"
  std::string trainer;    // set by choose_launch() to find_trainer_name(program), such as "verl-sft"; may be empty
  std::string condition;  // shell condition, known only at run time, under which the command runs; empty: always
  std::vector<ForeignKey> keys;      // settings passed to the program; repeats are kept, and the last value counts
  std::vector<ForeignKey> launcher;  // flags of torchrun, accelerate or deepspeed, which start the program
};

/// Result of reading a script.
struct ForeignScript {
  std::vector<ForeignLaunch> launches;  // commands that start Python programs with at least one setting
  std::vector<std::string> notes;       // sentences for the user, such as "run.sh:3: env.sh is not read, because ..."
  std::string ended;                    // "run.sh:4": place of the `exit` that ended the script; empty: no `exit` did
};

/// Reads a shell script without running anything. If it exits because arguments or variables are missing, reads it
/// again as if they were given. Throws UserError for invalid shell syntax, and for a script that takes too long.
ForeignScript read_script(std::string_view text, const std::string& origin, const shell::Reading& reading);

/// Collects the commands of many short shell texts in a longer text, such as the code blocks of a README. `origin` and
/// `reading` must outlive the object.
class BlockReader {
 public:
  BlockReader(const std::string& origin, const shell::Reading& reading) : origin_(origin), reading_(reading) {}

  /// Reads a block whose first line is line `line` (from 1) of the longer text; skips it if it is not valid shell.
  /// Throws UserError if all blocks so far together take too long.
  void add(std::string_view block, int line);
  /// Returns all commands found; call it once, at the end.
  ForeignScript take() { return std::move(script_); }

 private:
  const std::string& origin_;
  const shell::Reading& reading_;
  ForeignScript script_;
  size_t work_ = 0;
};

/// Returns the commands of a README's code blocks that are marked as shell or have no language. Throws UserError if all
/// blocks together take too long.
ForeignScript read_markdown(std::string_view text, const std::string& origin, const shell::Reading& reading);

}  // namespace roll
