// The sinks for people and scripts: standard output and metrics.jsonl (TensorBoard has its own file).
#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "track/tracker.h"

namespace roll {

namespace {

/// Short and stable in width: 4 significant digits, whole numbers as they are.
std::string short_number(double value) {
  if (std::abs(value) < 1e7 && value == std::trunc(value)) return fmt::format("{:.0f}", value);
  return fmt::format("{:.4g}", value);
}

class StdoutSink : public Sink {
 public:
  StdoutSink(Log& log, std::vector<std::string> headline) : log_(log), headline_(std::move(headline)) {}
  void write(int64_t step, const MetricValues& values) override {
    MetricValues shown;
    for (const std::string& name : headline_) {
      const auto found =
          std::find_if(values.begin(), values.end(), [&](const auto& value) { return value.first == name; });
      if (found != values.end()) shown.push_back(*found);
    }
    if (shown.empty()) shown = values;
    log_.interactive() ? write_table(step, shown) : write_line(step, shown);
  }

 private:
  void write_line(int64_t step, const MetricValues& values) {
    std::string line = fmt::format("step {}", step);
    for (const auto& [name, value] : values) line += fmt::format(" | {} {}", name, short_number(value));
    log_.info("{}", line);
  }

  /// As many columns of "name value" as the terminal holds, filled downwards so that related names stay together.
  void write_table(int64_t step, const MetricValues& values) {
    std::vector<std::string> cells;
    size_t name_width = 0, width = 0;
    for (const auto& [name, value] : values) name_width = std::max(name_width, name.size());
    for (const auto& [name, value] : values)
      cells.push_back(fmt::format("{:<{}} {:>10}", name, name_width, short_number(value)));
    for (const std::string& cell : cells) width = std::max(width, cell.size());
    const size_t columns = std::max<size_t>(1, static_cast<size_t>(log_.columns() + 1) / (width + 3));
    const size_t rows = (cells.size() + columns - 1) / columns;
    std::string table = fmt::format("── step {} ", step);
    for (int i = display_width(table);
         i < std::min<int>(log_.columns() - 1, static_cast<int>(columns * (width + 3)) - 3); ++i)
      table += "─";
    for (size_t row = 0; row < rows; ++row) {
      std::string line;
      for (size_t cell = row; cell < cells.size(); cell += rows) line += (cell == row ? "" : " │ ") + cells[cell];
      table += "\n" + line;
    }
    log_.info("{}", table);
  }

  Log& log_;
  std::vector<std::string> headline_;
};

class JsonlSink : public Sink {
 public:
  explicit JsonlSink(std::filesystem::path file) : file_(std::move(file)) {
    if (file_.has_parent_path()) make_folder(file_.parent_path());
    out_.open(file_, std::ios::app);
    if (!out_) throw system_error("{}: cannot write{}", file_.string(), errno_text());
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

std::unique_ptr<Sink> make_stdout_sink(Log& log, std::vector<std::string> headline) {
  return std::make_unique<StdoutSink>(log, std::move(headline));
}

std::unique_ptr<Sink> make_jsonl_sink(const std::filesystem::path& file) {
  return std::make_unique<JsonlSink>(file);
}

}  // namespace roll
