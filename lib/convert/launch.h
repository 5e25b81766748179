// The commands of a script that start a trainer, and the settings that each passes.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "convert/foreign.h"
#include "shell/interpreter.h"

namespace roll {

struct ForeignLaunch {
  std::string program;               // "verl.trainer.main_ppo", "examples/run.py", "trl grpo"; empty: a file of keys
  std::string place;                 // "run.sh:30"
  std::string trainer;               // whose keys it takes, where its name says so; see trainer_of_program()
  std::string condition;             // under which it is reached, where that is not known
  std::vector<ForeignKey> keys;      // the last of a name counts
  std::vector<ForeignKey> launcher;  // of torchrun, accelerate or deepspeed, which start the program
};

struct ForeignScript {
  std::vector<ForeignLaunch> launches;  // only those of Python programs, and only those with arguments
  std::vector<std::string> notes;       // what was noticed: a file that is not there, an argument that no command takes
  std::string ended;                    // "run.sh:4", where `exit` ended it; empty: its end did
};

/// Nothing of it is run: see shell/interpreter.h. UserError: what no shell would read, or has no bounds.
ForeignScript read_script(std::string_view text, const std::string& origin, const shell::Reading& reading);

/// The commands of many short texts in a longer one, such as the code blocks of a README.
class BlockReader {
 public:
  BlockReader(const std::string& origin, const shell::Reading& reading) : origin_(origin), reading_(reading) {}

  /// `block` begins in line `line` of the whole. One that no shell would read adds nothing. UserError: the blocks up to
  /// here take too long together.
  void add(std::string_view block, int line);
  ForeignScript take() { return std::move(all_); }

 private:
  const std::string& origin_;
  const shell::Reading& reading_;
  ForeignScript all_;
  size_t work_ = 0;
};

/// The code blocks of a README, those of shells and those without a name.
ForeignScript read_markdown(std::string_view text, const std::string& origin, const shell::Reading& reading);

}  // namespace roll
