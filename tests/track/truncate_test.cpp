#include "track/truncate.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "base/file.h"
#include "checkpoint/temporary_folder.h"
#include "track/tensorboard.h"
#include "track/tracker.h"

namespace roll {

using test::TemporaryFolder;

TEST_CASE("metrics.jsonl is cut after a step, with a line that was not finished", "[track]") {
  const TemporaryFolder folder;
  const std::string kept = "{\"step\":0,\"x\":1}\n{\"step\":1}\n{\"step\":2,\"step_x\":9}\n";
  const auto file = folder.write("metrics.jsonl", kept + "{\"step\":3}\n{\"step\":4,");
  truncate_jsonl(file, 2);
  CHECK(read_file(file) == kept);
  folder.write("metrics.jsonl", kept + "{\"step\":2");
  truncate_jsonl(file, 7);
  CHECK(read_file(file) == kept);
  truncate_jsonl(file, -1);
  CHECK(read_file(file).empty());
  truncate_jsonl(folder / "none.jsonl", 1);
  CHECK_FALSE(std::filesystem::exists(folder / "none.jsonl"));
}

TEST_CASE("a run's event files are cut after a step, another run's are not", "[track]") {
  const TemporaryFolder folder;
  const auto local = make_tensorboard_sink(folder.path(), "mine"),
             other = make_tensorboard_sink(folder.path(), "other");
  std::map<std::filesystem::path, uintmax_t> after_step_300;
  for (const int64_t step : {1, 300, 301, 302}) {
    for (const auto* sink : {&local, &other}) (*sink)->write(step, {{"x", 1}, {"y", 2}});
    if (step == 300)
      for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
        after_step_300[entry.path()] = entry.file_size();
  }
  REQUIRE(after_step_300.size() == 2);
  truncate_tensorboard(folder.path(), "mine", 300);
  for (const auto& [file, size] : after_step_300) {
    const bool is_mine = file.string().find("roll-mine.") != std::string::npos;
    CHECK((std::filesystem::file_size(file) == size) == is_mine);
    std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);  // torn
  }
  truncate_tensorboard(folder.path(), "mine", 300);
  for (const auto& [file, size] : after_step_300) {
    if (file.string().find("roll-mine.") == std::string::npos) continue;
    std::ifstream in(file, std::ios::binary);
    std::vector<int64_t> steps;
    for (std::string event; read_tfrecord(in, event);) steps.push_back(step_of_event(event));
    CHECK(steps == std::vector<int64_t>{0, 1});
  }
}

}  // namespace roll
