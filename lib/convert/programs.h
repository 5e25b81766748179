// Programs that start with arguments like a trainer's, and do something else than `roll train`.
#pragma once

#include <string>

namespace roll {

/// "trains on preferences ...", for a module, file or command of another trainer; empty: nothing speaks against it.
std::string other_kind_of(const std::string& program);

}  // namespace roll
