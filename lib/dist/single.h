// One process: every collective gives back what it was given.
#pragma once

#include <memory>

#include "dist/communicator.h"

namespace roll {

std::unique_ptr<Communicator> make_single_communicator(Membership own = {});

}  // namespace roll
