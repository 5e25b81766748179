// ROLL's section rollout_mock. If it is enabled, loading copies dump_dir to our key rollout_dump_dir (write rollouts)
// or rollout_replay (train on written rollouts).
#pragma once

#include <array>
#include <string>

#include "base/names.h"
#include "config/keys.h"

namespace roll {

/// Key that receives dump_dir: rollout_dump_dir (kDump) or rollout_replay (kReplay).
enum class MockMode { kDump, kReplay };
constexpr auto enum_names(MockMode) {
  return std::to_array<Named<MockMode>>({{MockMode::kDump, "dump"}, {MockMode::kReplay, "mock"}});
}

struct RolloutMock {
  bool enable = false;
  MockMode mode = MockMode::kDump;
  std::string dump_dir = "./rollout_mock_dumps";

  void fields(Keys& v) {
    v("enable", enable, "write or replay rollouts");
    v("mode", mode, "dump: as rollout_dump_dir; mock: as rollout_replay");
    v("dump_dir", dump_dir, "folder of the rollouts", only_with(enable));
  }
};

}  // namespace roll
