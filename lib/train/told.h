// Lists of token ids, from all ranks to all.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "dist/communicator.h"

namespace roll {

struct ToldIds {
  std::vector<std::vector<int64_t>> ids;  // of all ranks, rank after rank
  size_t first = 0;                       // of this rank's own
};

/// **Collective**.
ToldIds tell_ids(const std::vector<std::vector<int64_t>>& mine, Communicator& world, std::string_view name);

}  // namespace roll
