#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "track/mlflow.h"
#include "track/take_back.h"

namespace roll {

namespace {

struct TrackFolder {
  TrackFolder() : path(std::filesystem::temp_directory_path() / fmt::format("roll_track_files_{}", ::getpid())) {
    std::filesystem::remove_all(path);
  }
  ~TrackFolder() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

}  // namespace

TEST_CASE("metrics.csv has a column for every metric, also for those that are seen late", "[track]") {
  const TrackFolder folder;
  const auto file = folder.path / "metrics.csv";
  {
    const auto sink = make_csv_sink(file);
    sink->write(1, {{"b", 1}, {"a,\"b\"", 2.5}});
    sink->write(2, {{"b", std::nan("")}});
    sink->write(3, {{"c", 1.0 / 3}, {"b", 4}});
  }
  CHECK(read_file(file) == "step,b,\"a,\"\"b\"\"\",c\n1,1,2.5,\n2,,,\n3,4,,0.333333333\n");
  take_back_csv(file, 2);
  make_csv_sink(file)->write(3, {{"a,\"b\"", 7}, {"d", 8}});
  CHECK(read_file(file) == "step,b,\"a,\"\"b\"\"\",c,d\n1,1,2.5,,\n2,,,,\n3,,7,,8\n");
}

TEST_CASE("a CSV line that a dead run did not finish is taken back", "[track]") {
  const TrackFolder folder;
  const auto file = folder.path / "metrics.csv";
  make_folder(folder.path);
  write_file_atomic(file, "step,a\n1,2\n2,3");
  take_back_csv(file, 5);
  CHECK(read_file(file) == "step,a\n1,2\n");
}

TEST_CASE("MLflow's store has a line for each value, once, and no name leads into another's file", "[track]") {
  const TrackFolder folder;
  const MlflowRun run{folder.path / "mlruns", "my \"experiment\"", "0123456789abcdef", "quickstart"};
  const auto where = mlflow_run_folder(run);
  for (const int64_t first : {1, 3}) {
    take_back_mlflow(where, first - 1);
    const auto sink = make_mlflow_sink(run);
    for (int64_t step = first; step <= 4; ++step)
      sink->write(step, {{"reward/errors", 0.5}, {"reward/errors/crash", 1}, {"loss", step == 2 ? std::nan("") : 2}});
  }
  const auto steps_of = [&](const char* metric) {
    std::istringstream lines(read_file(where / "metrics" / metric));
    std::string steps;
    int64_t time = 0, step = 0;
    for (double value = 0; lines >> time >> value >> step;) steps += std::to_string(step);
    return steps;
  };
  CHECK(steps_of("reward/errors") == "1234");
  CHECK(steps_of("reward/errors.crash") == "1234");
  CHECK(steps_of("loss") == "134");
  CHECK_THAT(read_file(where / "meta.yaml"), Catch::Contains("run_id: \"0123456789abcdef\"\n"));
  CHECK_THAT(read_file(where.parent_path() / "meta.yaml"), Catch::Contains("name: \"my \\\"experiment\\\"\"\n"));
}

}  // namespace roll
