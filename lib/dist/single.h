// The communicator of kind `single`, for a job or group with one rank: every collective returns its input.
#pragma once

#include <memory>

#include "dist/communicator.h"

namespace roll {

/// Returns a communicator with membership.size = 1. The default is that of a job with one rank.
std::unique_ptr<Communicator> make_single_communicator(Membership membership = {});

}  // namespace roll
