// ROLL's rollout_mock keys, another spelling of our keys rollout_dump_dir (write rollouts) and rollout_replay (train on
// written rollouts).
#pragma once

#include <array>
#include <string>

#include "base/names.h"
#include "config/keys.h"

namespace roll {

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
