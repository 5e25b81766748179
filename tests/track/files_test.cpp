#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "track/mlflow.h"
#include "track/truncate.h"

namespace roll {

namespace {

struct TrackFolder {
  TrackFolder() : path(std::filesystem::temp_directory_path() / fmt::format("roll_test_track_files_{}", ::getpid())) {
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
  truncate_csv(file, 2);
  make_csv_sink(file)->write(3, {{"a,\"b\"", 7}, {"d", 8}});
  CHECK(read_file(file) == "step,b,\"a,\"\"b\"\"\",c,d\n1,1,2.5,,\n2,,,,\n3,,7,,8\n");
}

TEST_CASE("a CSV line that a dead run did not finish is taken back", "[track]") {
  const TrackFolder folder;
  const auto file = folder.path / "metrics.csv";
  make_folder(folder.path);
  write_file_atomic(file, "step,a\n1,2\n2,3");
  truncate_csv(file, 5);
  CHECK(read_file(file) == "step,a\n1,2\n");
}

TEST_CASE("MLflow's store has a line for each value, once, and no name leads into another's file", "[track]") {
  const TrackFolder folder;
  const MlflowRun run{folder.path / "mlruns", "my \"experiment\"", "0123456789abcdef", "quickstart"};
  const auto where = mlflow_run_folder(run);
  for (const int64_t first : {1, 3}) {
    truncate_mlflow(where, first - 1);
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

TEST_CASE("any names of metrics can be tracked, each by itself, once a step", "[track]") {
  const TrackFolder folder;
  const std::string longer(300, 'a');
  std::vector<std::string> names = {"score/mean", "val_correct/all/mean"};
  for (const std::string& tag : {longer, longer + "b", std::string("\xE6\x95\xB0"), std::string("\xE5\xAD\xA6"),
                                 std::string("a\nb"), std::string("a/b"), std::string("a.b"), std::string("../../../x"),
                                 std::string(), std::string("\x01\"'%"), std::string("x y")})
    names.push_back("val_correct/" + tag + "/mean");
  names.push_back("../score/mean");  // of a domain
  names.push_back(longer + "/score/mean");
  const MlflowRun run{folder.path / "mlruns", "e", "r", "n"};
  const auto csv = folder.path / "metrics.csv", jsonl = folder.path / "metrics.jsonl";
  for (const int64_t first : {1, 3}) {  // and goes on
    truncate_csv(csv, first - 1);
    std::vector<std::unique_ptr<Sink>> sinks;
    sinks.push_back(make_mlflow_sink(run));
    sinks.push_back(make_csv_sink(csv));
    sinks.push_back(make_jsonl_sink(jsonl));
    sinks.push_back(make_tensorboard_sink(folder.path / "tensorboard", "r"));
    for (int64_t step = first; step <= first + 1; ++step) {
      MetricValues values;
      for (const std::string& name : names) values.emplace_back(name, 1.0);
      values.emplace_back("huge", 1e300);
      values.emplace_back("nan", std::nan(""));
      for (const auto& sink : sinks) sink->write(step, values);
    }
  }
  const auto metrics = mlflow_run_folder(run) / "metrics";
  size_t num_files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(metrics)) {
    if (!entry.is_regular_file()) continue;
    ++num_files;
    const std::string name = entry.path().lexically_relative(metrics).string();
    const std::string lines = read_file(entry.path());
    CHECK(std::count(lines.begin(), lines.end(), '\n') == 4);
    CHECK(name.size() <= 250);
    CHECK(name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-. /") ==
          std::string::npos);
  }
  CHECK(num_files == names.size() + 1);
  const std::string rows = read_file(csv);
  CHECK(std::count(rows.begin(), rows.end(), '\n') == 5);  // the header, and four steps
  CHECK(rows.find("\n4,1,1,") != std::string::npos);
  int64_t num_read = 0;
  read_metrics(jsonl, [&](int64_t, const MetricValues& values) { num_read += std::ssize(values); });
  CHECK(num_read == 4 * (std::ssize(names) + 1));  // "nan" is null there
}

}  // namespace roll
