#include "records/rollout_files.h"

#include <unistd.h>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/file.h"

namespace roll {
namespace {

struct RolloutFolder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("roll_test_rollout_files_{}", ::getpid());
  RolloutFolder() { std::filesystem::create_directories(path); }
  ~RolloutFolder() { std::filesystem::remove_all(path); }
};

RolloutRecord sampled(int64_t group, int64_t sample, bool is_baseline = false) {
  return {.step = 3,
          .domain = group == 0 ? "maths" : "code",
          .prompt_id = "p",
          .group_index = group,
          .sample_index = sample,
          .is_baseline = is_baseline,
          .prompt = "?",
          .response = "!",
          .prompt_ids = {1, 2},
          .response_ids = std::vector<int64_t>(static_cast<size_t>(1 + sample), 5),
          .log_probs = std::vector<float>(static_cast<size_t>(1 + sample), -0.5F),
          .finish_reason = sample == 1 ? "length" : "stop",
          .score = static_cast<double>(group),
          .reward = as_written(0.1 * static_cast<double>(sample))};
}

std::vector<RolloutRecord> step_of(int64_t num_groups, int64_t group_size) {
  std::vector<RolloutRecord> records;
  for (int64_t group = 0; group < num_groups; ++group)
    for (int64_t sample = 0; sample < group_size; ++sample) records.push_back(sampled(group, sample));
  return records;
}

}  // namespace

TEST_CASE("parts of a step are read back as one, and each rank keeps its groups", "[train]") {
  const RolloutFolder folder;
  const auto all = step_of(4, 2);
  for (int64_t part = 0; part < 3; ++part) {
    std::vector<RolloutRecord> local;
    for (size_t i = static_cast<size_t>(part); i < all.size(); i += 3) local.push_back(all[i]);
    write_rollouts(folder.path, "step_", 3, local, {.index = part, .count = 3});
  }
  CHECK(is_there(folder.path / "step_000003-00002-of-00003.jsonl"));
  CHECK((read_replay(folder.path, 3, 2) == all));
  const auto second = read_replay(folder.path, 3, 2, false, {.index = 1, .count = 2});
  CHECK((second == std::vector<RolloutRecord>{all[2], all[3], all[6], all[7]}));
  SECTION("a part that is missing is told") {
    std::filesystem::remove(folder.path / "step_000003-00002-of-00003.jsonl");
    CHECK_THROWS_WITH(read_replay(folder.path, 3, 2), Catch::Contains("is part 1 of 3, but this step has 2 files"));
  }
  SECTION("a layout of fewer groups leaves nothing of the one before") {
    write_rollouts(folder.path, "step_", 3, all);
    CHECK(!is_there(folder.path / "step_000003-00001-of-00003.jsonl"));
    CHECK((read_replay(folder.path, 3, 2) == all));
  }
  SECTION("another step's files are none of it") {
    write_rollouts(folder.path, "step_", 30, all);
    CHECK((read_replay(folder.path, 3, 2) == all));
  }
}

}  // namespace roll
