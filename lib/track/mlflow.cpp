#include "track/mlflow.h"

#include <cctype>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace roll {

namespace fs = std::filesystem;

namespace {

int64_t now_ms() {
  return static_cast<int64_t>(wall_clock_s() * 1000);
}

/// A number, as MLflow's own are, that follows from the name: runs that share a store share the experiment.
std::string id_of(const std::string& experiment) {
  return std::to_string(fnv1a(experiment) % 1'000'000'000'000'000'000);
}

/// YAML takes JSON's strings.
std::string quoted(const std::string& text) {
  return to_line(Json(text));
}

std::string file_name(const std::string& metric) {
  const size_t group = metric.find('/');
  std::string name = metric;
  for (size_t i = 0; i < name.size(); ++i) {
    const auto c = static_cast<unsigned char>(name[i]);
    if (c == '/' && i != group) name[i] = '.';
    if (c != '/' && c != '.' && c != '-' && c != ' ' && !std::isalnum(c)) name[i] = '_';
  }
  return name;
}

void write_once(const fs::path& file, const std::string& text) {
  make_folder(file.parent_path());
  if (!is_there(file)) write_file_atomic(file, text);
}

class MlflowSink : public Sink {
 public:
  explicit MlflowSink(const MlflowRun& run) : folder_(mlflow_run_folder(run)) {
    const fs::path experiment = folder_.parent_path();
    const std::string id = experiment.filename().string(), where = fs::absolute(experiment).string();
    write_once(experiment / "meta.yaml",
               fmt::format("artifact_location: {}\ncreation_time: {}\nexperiment_id: '{}'\nlast_update_time: {}\n"
                           "lifecycle_stage: active\nname: {}\n",
                           quoted(where), now_ms(), id, now_ms(), quoted(run.experiment)));
    for (const char* part : {"metrics", "params", "tags", "artifacts"}) make_folder(folder_ / part);
    write_once(folder_ / "tags" / "mlflow.runName", run.name);
    // source_type 4 is "local"; status 1 is "running": a run's end is not told, because it may go on at any time.
    write_once(folder_ / "meta.yaml",
               fmt::format("artifact_uri: {}\nend_time: null\nentry_point_name: ''\nexperiment_id: '{}'\n"
                           "lifecycle_stage: active\nrun_id: {}\nrun_name: {}\nrun_uuid: {}\nsource_name: ''\n"
                           "source_type: 4\nsource_version: ''\nstart_time: {}\nstatus: 1\ntags: []\nuser_id: roll\n",
                           quoted(where + "/" + run.run + "/artifacts"), id, quoted(run.run), quoted(run.name),
                           quoted(run.run), now_ms()));
  }

  void write(int64_t step, const MetricValues& values) override {
    for (const auto& [name, value] : values) {
      if (!std::isfinite(value)) continue;
      const fs::path file = folder_ / "metrics" / file_name(name);
      make_folder(file.parent_path());
      std::ofstream out(file, std::ios::app);
      out << fmt::format("{} {:.9g} {}\n", now_ms(), value, step) << std::flush;
      if (!out) throw system_error("{}: cannot write{}", file.string(), errno_text());
    }
  }

 private:
  fs::path folder_;
};

}  // namespace

fs::path mlflow_run_folder(const MlflowRun& run) {
  return run.store / id_of(run.experiment) / run.run;
}

std::unique_ptr<Sink> make_mlflow_sink(const MlflowRun& run) {
  return std::make_unique<MlflowSink>(run);
}

}  // namespace roll
