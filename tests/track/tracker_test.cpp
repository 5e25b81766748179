#include "track/tracker.h"

#include <unistd.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

using namespace roll;

namespace {

struct Folder {
  Folder() : path(std::filesystem::temp_directory_path() / fmt::format("roll_tracker_{}", ::getpid())) {
    std::filesystem::remove_all(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

std::string printed(const Terminal& terminal, const MetricValues& values) {
  std::ostringstream out, err;
  Log log(out, err, {.rank = 0, .num_ranks = 1, .terminal = terminal});
  make_stdout_sink(log)->write(12, values);
  return out.str();
}

}  // namespace

TEST_CASE("without a terminal a step is one line", "[track]") {
  CHECK(printed({}, {{"actor/loss", 0.123456}, {"score", 12}, {"lr", 1e-6}, {"bad", std::nan("")}}) ==
        "step 12 | actor/loss 0.1235 | score 12 | lr 1e-06 | bad nan\n");
}

TEST_CASE("standard output shows the headline where it is there", "[track]") {
  std::ostringstream out, err;
  Log log(out, err, {});
  const auto sink = make_stdout_sink(log, {"b", "absent", "a"});
  sink->write(1, {{"a", 1}, {"b", 2}, {"c", 3}});
  sink->write(2, {{"c", 3}});
  CHECK(out.str() == "step 1 | b 2 | a 1\nstep 2 | c 3\n");
}

TEST_CASE("on a terminal a step is a table as wide as the terminal allows", "[track]") {
  const MetricValues values = {{"a", 1}, {"bb", 2.5}, {"c", 3}, {"d", 4}, {"e", 5}};
  const std::string narrow = printed({true, 20}, values);
  CHECK(std::count(narrow.begin(), narrow.end(), '\n') == 6);
  const std::string wide = printed({true, 60}, values);
  CHECK(std::count(wide.begin(), wide.end(), '\n') == 3);
  std::istringstream lines(wide);
  for (std::string line; std::getline(lines, line);) CHECK(display_width(line) <= 60);
  CHECK_THAT(wide, Catch::Contains("── step 12 ") && Catch::Contains("bb        2.5"));
}

TEST_CASE("metrics.jsonl holds a whole line per step from the moment it is written", "[track]") {
  const Folder folder;
  std::ostringstream out, err;
  Log log(out, err, {});
  Tracker tracker({{TrackerKind::kJsonl}, folder.path, ""}, log);
  tracker.write(1, {{"x", 1.0f / 3}, {"bad", std::nan("")}});
  tracker.write(2, {{"x", 16777217.0}});
  CHECK(read_file(folder.path / "metrics.jsonl") ==
        "{\"step\":1,\"x\":0.333333343,\"bad\":null}\n{\"step\":2,\"x\":16777217.0}\n");
  Tracker resumed({{TrackerKind::kJsonl}, folder.path, ""}, log);
  resumed.write(3, {});
  CHECK_THAT(read_file(folder.path / "metrics.jsonl"), Catch::EndsWith("{\"step\":3}\n"));
  CHECK(out.str().empty());
}

TEST_CASE("logging_steps is the terminal's; the files hold every step", "[track]") {
  const Folder folder;
  std::ostringstream out, err;
  Log log(out, err, {});
  const TrackerOptions options{.track_with = {TrackerKind::kStdout, TrackerKind::kJsonl},
                               .output_dir = folder.path,
                               .tensorboard_dir = "",
                               .logging_steps = 3,
                               .last_step = 5};
  Tracker tracker(options, log);
  for (int64_t step = 0; step <= 5; ++step) tracker.write(step, {{"x", 1}});
  CHECK(out.str() == "step 0 | x 1\nstep 3 | x 1\nstep 5 | x 1\n");
  const std::string file = read_file(folder.path / "metrics.jsonl");
  CHECK(std::count(file.begin(), file.end(), '\n') == 6);
}
