#include "report/run_record.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "checkpoint/manifest.h"
#include "checkpoint/temporary_folder.h"
#include "error_of.h"
#include "report/shown_responses.h"

TEST_CASE("metrics are read by name, and what is no number of theirs is left out") {
  std::vector<std::string> notes;
  const auto metrics =
      roll::metrics_in("{\"step\": 1, \"a\": 2.5}\n{\"step\": 2, \"a\": null, \"b\": 7, \"c\": \"text\"}\n", notes);
  REQUIRE(metrics.size() == 2);
  CHECK(metrics.at("a").steps == std::vector<int64_t>{1, 2});
  CHECK(metrics.at("a").values[0] == 2.5);
  CHECK(std::isnan(metrics.at("a").values[1]));
  CHECK(metrics.at("b").steps == std::vector<int64_t>{2});
  CHECK(notes.empty());
}

TEST_CASE("half a last line is said to be unfinished, and a broken one is named") {
  std::vector<std::string> notes;
  const auto metrics = roll::metrics_in("{\"step\": 1, \"a\": 1}\nnonsense\n[1]\n{\"step\": 2, \"a\"", notes);
  CHECK(metrics.at("a").steps == std::vector<int64_t>{1});
  REQUIRE(notes.size() == 3);
  CHECK(notes[0].find("Line 2") != notes[0].npos);
  CHECK(notes[1].find("Line 3") != notes[1].npos);
  CHECK(notes[2].find("not finished") != notes[2].npos);
}

TEST_CASE("a step that is there twice counts as its last line says") {
  std::vector<std::string> notes;
  const auto metrics = roll::metrics_in("{\"step\":1,\"a\":1}\n{\"step\":2,\"a\":2}\n{\"step\":1,\"a\":5}\n", notes);
  CHECK(metrics.at("a").steps == std::vector<int64_t>{1, 2});
  CHECK(metrics.at("a").values == std::vector<double>{5, 2});
}

TEST_CASE("a run is found up to two levels below the folder that is named") {
  namespace fs = std::filesystem;
  const roll::test::TemporaryFolder folder;
  const fs::path top = folder.path();
  CHECK(roll::find_run(top / "gone") == top / "gone");
  fs::create_directories(top / "a/run");
  CHECK(roll::find_run(top) == top);
  roll::write_file_atomic(top / "a/run/metrics.jsonl", "");
  CHECK(roll::find_run(top) == top / "a/run");
  CHECK(roll::find_run(top / "a/run") == top / "a/run");
  fs::create_directories(top / "b/c/d");
  roll::write_file_atomic(top / "b/c/d/log.txt", "");  // too deep
  CHECK(roll::find_run(top) == top / "a/run");
  fs::create_directories(top / "b/rollouts");
  const std::string error = roll::testing::error_of([&] { roll::find_run(top); });
  CHECK(error == top.string() + ": holds 2 runs; give the runs to show: " + (top / "a/run").string() + ", " +
                     (top / "b").string());
}

TEST_CASE("a checkpoint means its run, and without one it is none") {
  namespace fs = std::filesystem;
  const roll::test::TemporaryFolder folder;
  const fs::path run = fs::canonical(folder.path()) / "run", checkpoint = run / "checkpoints/step_000001";
  fs::create_directories(checkpoint / "actor");
  for (const fs::path& file : {run / "metrics.jsonl", checkpoint / "config.resolved.yaml"})
    roll::write_file_atomic(file, "");
  roll::write_manifest(checkpoint, {.about = {{"run", "r"}}, .files = {}, .step = 1});
  fs::create_symlink("step_000001", run / "checkpoints/latest");
  for (const char* below : {"checkpoints", "checkpoints/latest", "checkpoints/step_000001", "checkpoints/latest/actor"})
    CHECK(roll::find_run(run / below) == run);
  fs::rename(checkpoint, run.parent_path() / "alone");
  CHECK(roll::testing::error_of([&] {
          roll::find_run(run.parent_path() / "alone");
        }).find("is a checkpoint outside its run's folder") != std::string::npos);
  CHECK(roll::find_run(run.parent_path()) == run);  // a checkpoint beside it is no second run
}

TEST_CASE("what is no run folder is refused") {
  CHECK(roll::testing::error_of([] { roll::read_run("/nowhere/at/all"); }).find("no such run folder") !=
        std::string::npos);
}

TEST_CASE("steps with responses are spread evenly, with the first, the last, the wanted and the telling ones") {
  std::vector<int64_t> available;
  for (int64_t step = 1; step <= 1000; ++step) available.push_back(step);
  const auto steps = roll::chosen_steps(available, {437}, {640, 2000}, 5);
  CHECK(steps == std::vector<int64_t>{1, 200, 400, 437, 600, 640, 800, 1000});
  CHECK(roll::chosen_steps({7}, {}, {}, 5) == std::vector<int64_t>{7});
  CHECK(roll::chosen_steps({}, {}, {3}, 5).empty());
  CHECK(roll::chosen_steps({2, 4, 6}, {}, {}, 5) == std::vector<int64_t>{2, 4, 6});
}
