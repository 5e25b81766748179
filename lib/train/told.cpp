#include "train/told.h"

#include "base/json.h"

namespace roll {

ToldIds tell_ids(const std::vector<std::vector<int64_t>>& mine, Communicator& world, std::string_view name) {
  ToldIds told;
  const std::vector<std::string> lines = world.all_gather_bytes(to_line(Json(mine)), name);
  for (int64_t rank = 0; rank < std::ssize(lines); ++rank) {
    if (rank == world.rank()) told.first = told.ids.size();
    for (const Json& ids : parse_json(lines[rank], "token ids of another rank"))
      told.ids.push_back(ids.get<std::vector<int64_t>>());
  }
  return told;
}

}  // namespace roll
