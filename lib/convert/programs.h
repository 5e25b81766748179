// Programs that start with arguments like a trainer's, and do something else than `roll train`.
#pragma once

#include <string>

namespace roll {

/// The ForeignTrainer whose keys a module, file or command takes, as "verl-sft"; empty: its name does not say it.
std::string trainer_of_program(const std::string& program);
/// "trains on preferences ...", for a module, file or command of another trainer; empty: nothing speaks against it.
std::string other_kind_of(const std::string& program);

}  // namespace roll
