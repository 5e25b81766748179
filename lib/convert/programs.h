// Classifies programs that a script starts, for choose_launch(): finds trainers, refuses other kinds of training.
#pragma once

#include <string>

namespace roll {

/// Returns the ForeignTrainer of a module, file or command, such as "verl-sft"; empty if its name does not tell.
std::string find_trainer_name(const std::string& program);
/// Returns why a program cannot be converted, such as "trains on preferences ..."; empty if it can.
std::string refusal_reason(const std::string& program);

}  // namespace roll
