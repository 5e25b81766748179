// Classifies programs that a script starts, by their names, for choose_launch() in convert.h. A program is a Python
// module, a file or a command: "verl.trainer.main_ppo", "examples/dpo.py", "trl dpo".
#pragma once

#include <string>

namespace roll {

/// Returns the name of the trainer for `roll sft` or `roll dpo` whose keys the program takes, such as "verl-sft"; empty
/// for all other programs, whose trainer is then found by their keys.
std::string find_trainer_name(const std::string& program);
/// Returns why a program's training cannot be converted, such as "trains on images; ..."; empty if its name gives no
/// reason.
std::string refusal_reason(const std::string& program);

}  // namespace roll
