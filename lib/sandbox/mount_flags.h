// mount_setattr(2), which C libraries older than 2.36 do not declare.
#pragma once

#include <cstdint>

namespace roll {

struct MountFlags {
  uint64_t set = 0, clear = 0, propagation = 0, user_namespace = 0;
};
constexpr uint64_t kMountReadOnly = 1, kMountNoSuid = 2, kMountNoDev = 4, kMountNoExec = 8;
constexpr unsigned kMountRecursive = 0x8000;  // AT_RECURSIVE

}  // namespace roll
