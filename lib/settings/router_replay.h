// ROLL's spelling of routing_replay, which each role has for itself.
#pragma once

#include <array>

#include "base/names.h"
#include "config/keys.h"

namespace roll {

/// R3: experts as the sampler's routers chose them (rollout routing replay).
enum class RouterReplayMode { kDisable, kR3 };
constexpr auto names_of(RouterReplayMode) {
  return std::to_array<Named<RouterReplayMode>>(
      {{RouterReplayMode::kDisable, "disable"}, {RouterReplayMode::kR3, "R3"}});
}

struct RouterReplay {
  RouterReplayMode mode = RouterReplayMode::kDisable;

  void fields(Keys& v) { v("mode", mode, "R3: as routing_replay: true, of actor_train and actor_infer together"); }
};

}  // namespace roll
