// The sink for scripts: metrics.jsonl.
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "track/tracker.h"

namespace roll {

namespace {

class JsonlSink : public Sink {
 public:
  explicit JsonlSink(std::filesystem::path file) : file_(std::move(file)) {
    if (file_.has_parent_path()) make_folder(file_.parent_path());
    out_ = open_to_append(file_);
  }
  void write(int64_t step, const MetricValues& values) override {
    Json line = {{"step", step}};
    for (const auto& [name, value] : values) line[name] = json_float(value);
    out_ << to_line(line) << '\n' << std::flush;
    if (!out_) throw system_error("{}: cannot write{}", file_.string(), errno_text());
  }

 private:
  std::filesystem::path file_;
  std::ofstream out_;
};

}  // namespace

std::unique_ptr<Sink> make_jsonl_sink(const std::filesystem::path& file) {
  return std::make_unique<JsonlSink>(file);
}

}  // namespace roll
