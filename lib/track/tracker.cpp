#include "track/tracker.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/utc.h"
#include "track/mlflow.h"
#include "track/wandb.h"

namespace roll {

namespace {

class JsonlSink : public Sink {
 public:
  explicit JsonlSink(const std::filesystem::path& file) : file_(file) {}
  void write(int64_t step, const MetricValues& values) override {
    Json line = {{"step", step}, {"utc", utc_text()}};
    for (const auto& [name, value] : values) line[name] = json_float(value);
    file_.write(line);
  }

 private:
  JsonLinesFile file_;
};

}  // namespace

std::unique_ptr<Sink> make_jsonl_sink(const std::filesystem::path& file) {
  return std::make_unique<JsonlSink>(file);
}

JsonLinesFile::JsonLinesFile(std::filesystem::path file) : file_(std::move(file)) {
  if (file_.has_parent_path()) make_folder(file_.parent_path());
  out_ = open_to_append(file_);
}

void JsonLinesFile::write(const Json& line) {
  out_ << to_line(line) << '\n' << std::flush;
  if (!out_) throw system_error("{}: cannot write{}", file_.string(), errno_text());
}

Tracker::Tracker(const TrackerOptions& options, Log& log)
    : log_(log), headline_(options.headline), logging_steps_(options.logging_steps), screen_(options.screen) {
  const std::filesystem::path metrics = options.output_dir / "metrics.jsonl";
  read_metrics(metrics, [&](int64_t step, const MetricValues& values) {
    history_.add(step, values);
    watch_.observe(history_);
  });
  for (const TrackerKind kind : options.track_with) {
    switch (kind) {
      case TrackerKind::kStdout:
        shows_steps_ = true;
        break;
      case TrackerKind::kJsonl:
        sinks_.push_back(make_jsonl_sink(metrics));
        histograms_.emplace(options.output_dir / kHistogramFile);
        break;
      case TrackerKind::kTensorboard:
        sinks_.push_back(make_tensorboard_sink(options.tensorboard_dir, options.run));
        break;
      case TrackerKind::kCsv:
        sinks_.push_back(make_csv_sink(options.output_dir / "metrics.csv"));
        break;
      case TrackerKind::kMlflow:
        sinks_.push_back(make_mlflow_sink({options.mlflow_store, options.experiment, options.run, options.name}));
        break;
      case TrackerKind::kWandb:
        sinks_.push_back(
            make_wandb_sink({options.wandb_dir, options.run, options.project, options.name, options.config}));
        break;
      case TrackerKind::kService:
        throw Bug("a web service stands for others");
    }
  }
  show_on_screen();
}

void Tracker::write(int64_t step, MetricValues values, int64_t last_step) {
  const Json histograms = take_histograms(values);
  if (histograms_ && !histograms.empty()) {
    Json line{{"step", step}};
    line.update(histograms);
    histograms_->write(line);
  }
  history_.add(step, values);
  for (const auto& sink : sinks_) sink->write(step, values);
  if (shows_steps_ && last_step > 0 && (step % logging_steps_ == 0 || step == last_step))
    log_.info("{}", step_line(headline_, history_, last_step));
  for (const Warning& warning : watch_.observe(history_)) log_.warn("step {}: {}", warning.step, warning.text);
  show_on_screen();
}

void Tracker::finish() {
  for (const auto& sink : sinks_) sink->finish();
}

void Tracker::show_on_screen() {
  if (!screen_ || history_.step() < 0) return;
  std::vector<std::string> active;
  for (const Warning& warning : warnings())
    if (watch_.is_active(warning)) active.push_back(fmt::format("step {}: {}", warning.step, warning.text));
  screen_->show_step(history_, std::move(active));
}

}  // namespace roll
