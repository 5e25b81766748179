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

constexpr size_t kLongestName = 250;  // MLflow's limit; file systems allow 255 per component
constexpr size_t kHashLength = 9;     // with dash

int64_t now_ms() {
  return static_cast<int64_t>(wall_clock_s() * 1000);
}

/// Returns a numeric id, as MLflow uses, derived from the name: runs in one store share the experiment.
std::string experiment_id(const std::string& experiment) {
  return std::to_string(fnv1a(experiment) % 1'000'000'000'000'000'000);
}

/// JSON strings are valid YAML.
std::string quoted(const std::string& text) {
  return to_line(Json(text));
}

/// Returns the file name of a metric; changed or shortened names get a hash to stay distinct.
std::string stored_name(const std::string& metric) {
  const size_t group = metric.find('/');
  std::string name = metric;
  const bool has_parts = group != std::string::npos && name.find('/', group + 1) != std::string::npos;
  bool is_changed = name.size() > kLongestName || name.starts_with('/') || name.starts_with("../") ||
                    (has_parts && name.find('.') != std::string::npos);
  for (size_t i = 0; i < name.size(); ++i) {
    const auto c = static_cast<unsigned char>(name[i]);
    if (c == '/' && i != group) name[i] = '.';
    if (c == '/' || c == '.' || c == '-' || c == '_' || c == ' ' || (c < 0x80 && std::isalnum(c))) continue;
    name[i] = '_';
    is_changed = true;
  }
  if (!is_changed) return name;
  for (size_t i = 0; i < name.size() && (name[i] == '.' || name[i] == '/'); ++i) name[i] = '_';
  return fmt::format("{}-{:08x}", name.substr(0, kLongestName - kHashLength), fnv1a(metric) & 0xFFFF'FFFF);
}

void write_once(const fs::path& file, const std::string& text) {
  make_folder(file.parent_path());
  if (!is_there(file)) write_file_atomic(file, text);
}

class MlflowSink : public Sink {
 public:
  explicit MlflowSink(const MlflowRun& run) : folder_(mlflow_run_folder(run)) {
    const fs::path experiment = folder_.parent_path();
    const std::string id = experiment.filename().string(), folder_text = fs::absolute(experiment).string();
    write_once(experiment / "meta.yaml",
               fmt::format("artifact_location: {}\ncreation_time: {}\nexperiment_id: '{}'\nlast_update_time: {}\n"
                           "lifecycle_stage: active\nname: {}\n",
                           quoted(folder_text), now_ms(), id, now_ms(), quoted(run.experiment)));
    for (const char* part : {"metrics", "params", "tags", "artifacts"}) make_folder(folder_ / part);
    write_once(folder_ / "tags" / "mlflow.runName", run.name);
    // source_type 4 is "local"; status 1 is "running". The end is not recorded, because the run may resume at any time.
    write_once(folder_ / "meta.yaml",
               fmt::format("artifact_uri: {}\nend_time: null\nentry_point_name: ''\nexperiment_id: '{}'\n"
                           "lifecycle_stage: active\nrun_id: {}\nrun_name: {}\nrun_uuid: {}\nsource_name: ''\n"
                           "source_type: 4\nsource_version: ''\nstart_time: {}\nstatus: 1\ntags: []\nuser_id: roll\n",
                           quoted(folder_text + "/" + run.run + "/artifacts"), id, quoted(run.run), quoted(run.name),
                           quoted(run.run), now_ms()));
  }

  void write(int64_t step, const MetricValues& values) override {
    for (const auto& [name, value] : values) {
      if (!std::isfinite(value)) continue;
      const fs::path file = folder_ / "metrics" / stored_name(name);
      make_folder(file.parent_path());
      std::ofstream out = open_to_append(file);
      out << fmt::format("{} {:.9g} {}\n", now_ms(), value, step) << std::flush;
      if (!out) throw system_error("{}: cannot write{}", file.string(), errno_text());
    }
  }

 private:
  fs::path folder_;
};

}  // namespace

fs::path mlflow_run_folder(const MlflowRun& run) {
  return run.store / experiment_id(run.experiment) / run.run;
}

std::unique_ptr<Sink> make_mlflow_sink(const MlflowRun& run) {
  return std::make_unique<MlflowSink>(run);
}

}  // namespace roll
