// Finds the commands of a script that start a trainer, and the settings they pass.
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
  std::string program;               // "verl.trainer.main_ppo", "examples/run.py", "trl grpo"; empty: a file of keys
  std::string place;                 // "run.sh:30"
  std::string trainer;               // trainer whose keys it takes, if its name shows it; see find_trainer_name()
  std::string condition;             // unresolved shell condition under which the command runs; empty: always
  std::vector<ForeignKey> keys;      // a repeated key's last value wins
  std::vector<ForeignKey> launcher;  // flags of torchrun, accelerate or deepspeed, which start the program
};

/// Result of reading a script.
struct ForeignScript {
  std::vector<ForeignLaunch> launches;  // commands of Python programs with arguments
  std::vector<std::string> notes;       // findings: a missing file, an argument that no command takes
  std::string ended;                    // "run.sh:4": place of the `exit` that ended it; empty: reached the end
};

/// Reads a script without running anything (shell/interpreter.h). UserError: invalid shell syntax, or unbounded work.
ForeignScript read_script(std::string_view text, const std::string& origin, const shell::Reading& reading);

/// Collects the commands of many short texts in a longer one, such as the code blocks of a README.
class BlockReader {
 public:
  BlockReader(const std::string& origin, const shell::Reading& reading) : origin_(origin), reading_(reading) {}

  /// Reads a block that begins in line `line` of the whole text; skips it if it is no valid shell. UserError: the
  /// blocks so far take too long together.
  void add(std::string_view block, int line);
  ForeignScript take() { return std::move(script_); }

 private:
  const std::string& origin_;
  const shell::Reading& reading_;
  ForeignScript script_;
  size_t work_ = 0;
};

/// Reads the code blocks of a README that are marked as shell or have no language.
ForeignScript read_markdown(std::string_view text, const std::string& origin, const shell::Reading& reading);

}  // namespace roll
