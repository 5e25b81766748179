#include "track/tracker.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

using namespace roll;

namespace {

struct Folder {
  Folder() : path(std::filesystem::temp_directory_path() / fmt::format("roll_test_tracker_{}", ::getpid())) {
    std::filesystem::remove_all(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

}  // namespace

TEST_CASE("metrics.jsonl holds a whole line per step from the moment it is written", "[track]") {
  const Folder folder;
  std::ostringstream out, err;
  Log log(out, err, {});
  Tracker tracker({{TrackerKind::kJsonl}, folder.path, ""}, log);
  tracker.write(1, {{"x", 1.0f / 3}, {"bad", std::nan("")}}, 9);
  tracker.write(2, {{"x", 16777217.0}}, 9);
  const std::string time = R"("utc":"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ")";
  CHECK_THAT(read_file(folder.path / "metrics.jsonl"),
             Catch::Matches(R"(\{"step":1,)" + time + R"(,"x":0\.333333343,"bad":null\}\n\{"step":2,)" + time +
                            R"(,"x":16777217\.0\}\n)"));
  Tracker resumed({{TrackerKind::kJsonl}, folder.path, ""}, log);
  resumed.write(3, {}, 9);
  CHECK_THAT(read_file(folder.path / "metrics.jsonl"), Catch::Contains("{\"step\":3,\"utc\""));
  CHECK(out.str().empty());
}

TEST_CASE("logging_steps is the terminal's; the files hold every step", "[track]") {
  const Folder folder;
  std::ostringstream out, err;
  Log log(out, err, {});
  const TrackerOptions options{.track_with = {TrackerKind::kStdout, TrackerKind::kJsonl},
                               .output_dir = folder.path,
                               .tensorboard_dir = "",
                               .headline = {.goal = {"x", "x"}},
                               .logging_steps = 3};
  Tracker tracker(options, log);
  for (int64_t step = 0; step <= 5; ++step) tracker.write(step, {{"x", 1}}, 5);
  CHECK(out.str() == "step 0/5 | x 1 (best 1 @ 0)\nstep 3/5 | x 1 (best 1 @ 0)\nstep 5/5 | x 1 (best 1 @ 0)\n");
  const std::string file = read_file(folder.path / "metrics.jsonl");
  CHECK(std::count(file.begin(), file.end(), '\n') == 6);
}

TEST_CASE("a run that goes on knows the best step, and warns of nothing twice", "[track]") {
  const Folder folder;
  std::ostringstream out, err;
  Log log(out, err, {});
  const TrackerOptions options{.track_with = {TrackerKind::kStdout, TrackerKind::kJsonl},
                               .output_dir = folder.path,
                               .tensorboard_dir = "",
                               .headline = {.goal = {"score", "score/mean"}}};
  for (const int64_t first : {1, 7}) {
    Tracker tracker(options, log);
    for (int64_t step = first; step < first + 6; ++step)
      tracker.write(step, {{"score/mean", step == 2 ? 0.5 : 0.25}, {"kl", 2}}, 20);
    CHECK(tracker.warnings().size() == 1);
  }
  CHECK_THAT(out.str(), Catch::EndsWith("step 12/20 | score 0.25 (best 0.5 @ 2)\n"));
  CHECK_THAT(err.str(), Catch::StartsWith("warning: step 5: the policy drifts far"));
  CHECK(std::ranges::count(err.str(), '\n') == 1);
}
