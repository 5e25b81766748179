#include "process/file_lock.h"

#include <catch2/catch.hpp>

#include "base/file.h"
#include "checkpoint/temporary_folder.h"

namespace roll {

TEST_CASE("a lock is in place as long as its file is there and no other", "[base]") {
  const test::TemporaryFolder folder;
  std::string holder;
  const auto lock = FileLock::take(folder / ".lock", 0, holder);
  REQUIRE(lock);
  CHECK(lock->is_in_place());
  CHECK(FileLock::take(folder / ".lock", 0, holder) == nullptr);
  std::filesystem::rename(folder / ".lock", folder / "moved");
  CHECK_FALSE(lock->is_in_place());
  write_file_atomic(folder / ".lock", "another one");
  CHECK_FALSE(lock->is_in_place());
  std::filesystem::rename(folder / "moved", folder / ".lock");
  CHECK(lock->is_in_place());
}

}  // namespace roll
