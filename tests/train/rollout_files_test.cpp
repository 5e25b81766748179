#include "train/rollout_files.h"

#include <unistd.h>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/file.h"
#include "dist/local_ranks.h"
#include "train/step_index.h"

namespace roll {
namespace {

struct RolloutFolder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("roll_rollout_files_{}", ::getpid());
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
    std::vector<RolloutRecord> mine;
    for (size_t i = static_cast<size_t>(part); i < all.size(); i += 3) mine.push_back(all[i]);
    write_rollouts(folder.path, "step_", 3, mine, {.index = part, .count = 3});
  }
  CHECK(is_there(folder.path / "step_000003-00002-of-00003.jsonl"));
  CHECK((read_replay(folder.path, 3, 2) == all));
  const auto second = read_replay(folder.path, 3, 2, false, {.index = 1, .count = 2});
  CHECK((second == std::vector<RolloutRecord>{all[2], all[3], all[6], all[7]}));
  SECTION("a part that is missing is told") {
    std::filesystem::remove(folder.path / "step_000003-00002-of-00003.jsonl");
    CHECK_THROWS_WITH(read_replay(folder.path, 3, 2), Catch::Contains("is part 1 of 3, and there are 2 files"));
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

TEST_CASE("all ranks know the facts of all responses, baselines give theirs to their groups", "[train][dist]") {
  const auto said = test::run_local_ranks(2, [](Communicator& ranks) {
    // Rank 0 has sample 1 of both groups and the first baseline, rank 1 the rest.
    std::vector<RolloutRecord> mine = {sampled(1, 1), sampled(0, 1), sampled(0, 2, true)};
    if (ranks.rank() == 1) mine = {sampled(1, 2, true), sampled(1, 0), sampled(0, 0)}, mine[0].is_judged = false;
    const StepIndex step = index_of(mine, ranks);
    const StepFacts& facts = step.facts;
    std::string text =
        fmt::format("{} {} {} {} ", facts.num_sequences(), facts.num_tokens(), facts.domains[1], facts.domains[2]);
    for (size_t b = 0; b < facts.judged.size(); ++b)
      text += fmt::format("[{} {} {} {:d} {:d}]", facts.group_index[b], facts.response_lengths[b], facts.baselines[b],
                          facts.judged[b], facts.truncated[b]);
    for (const int64_t s : step.holders.share_of(ranks.rank())) text += fmt::format(" {}", s);
    const Experience own = experience_of(mine, step.facts, step.holders.share_of(ranks.rank()));
    return text + fmt::format(" {} {}", own.tokens.num_tokens(), own.sampler_log_probs.sum().item<double>());
  });
  const std::string known = "4 14 maths code [0 1 0.2 1 0][0 2 0.2 1 1][1 1 0.2 0 0][1 2 0.2 0 1]";
  CHECK(said == std::vector<std::string>{known + " 1 3 8 -2", known + " 0 2 6 -1"});
  const auto twice = test::run_local_ranks(2, [](Communicator& ranks) {
    std::vector<RolloutRecord> mine = {sampled(0, 0)};
    index_of(mine, ranks);
    return std::string();
  });
  CHECK_THAT(twice[0], Catch::Contains("response 0 of group 0 is there twice: on ranks 0 and 1"));
}

}  // namespace roll
