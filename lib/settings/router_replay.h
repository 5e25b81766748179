// ROLL's router_replay keys of a role, another spelling of our top-level key routing_replay.
#pragma once

#include <array>

#include "base/names.h"
#include "config/keys.h"

namespace roll {

/// R3 (rollout routing replay): training uses the experts that the sampler's routers chose.
enum class RouterReplayMode { kDisable, kR3 };
constexpr auto enum_names(RouterReplayMode) {
  return std::to_array<Named<RouterReplayMode>>(
      {{RouterReplayMode::kDisable, "disable"}, {RouterReplayMode::kR3, "R3"}});
}

struct RouterReplay {
  RouterReplayMode mode = RouterReplayMode::kDisable;

  void fields(Keys& v) {
    v("mode", mode, "R3: like routing_replay: true; set it for both actor_train and actor_infer");
  }
};

}  // namespace roll
