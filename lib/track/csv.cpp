// metrics.csv: a row per step, a column per metric. A metric that first appears later adds a column.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "track/tracker.h"

namespace roll {

namespace {

namespace fs = std::filesystem;

/// Replaces line breaks in a metric's name, which line-based readers such as truncate_csv() would misread.
std::string column_name(std::string name) {
  for (char& c : name)
    if (c == '\n' || c == '\r') c = ' ';
  return name;
}

/// Quotes a cell by RFC 4180; only names with domains or tags can need it.
std::string cell(const std::string& name) {
  if (name.find_first_of(",\"") == std::string::npos) return name;
  std::string quoted = "\"";
  for (const char c : name) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::vector<std::string> parse_cells(const std::string& line) {
  std::vector<std::string> cells(1);
  bool is_quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && is_quoted && i + 1 < line.size() && line[i + 1] == '"')
      cells.back() += line[++i];
    else if (c == '"')
      is_quoted = !is_quoted;
    else if (c == ',' && !is_quoted)
      cells.emplace_back();
    else
      cells.back() += c;
  }
  return cells;
}

class CsvSink : public Sink {
 public:
  explicit CsvSink(fs::path file) : file_(std::move(file)) {
    if (file_.has_parent_path()) make_folder(file_.parent_path());
    std::string header;
    if (is_there(file_)) {
      std::ifstream in = open_to_read(file_);
      std::getline(in, header);
      columns_ = parse_cells(header);
    }
    if (columns_.empty() || columns_[0] != "step") columns_ = {"step"};
  }

  void write(int64_t step, const MetricValues& values) override {
    const size_t num_before = columns_.size();
    std::map<std::string, double> by_name;
    for (const auto& [metric, value] : values) {
      const std::string name = column_name(metric);
      by_name[name] = value;
      if (std::ranges::find(columns_, name) == columns_.end()) columns_.push_back(name);
    }
    if (columns_.size() > num_before || !is_there(file_)) widen(columns_.size() - num_before);
    std::string row = std::to_string(step);
    for (size_t i = 1; i < columns_.size(); ++i) {
      const auto found = by_name.find(columns_[i]);
      row += found == by_name.end() || !std::isfinite(found->second) ? "," : fmt::format(",{:.9g}", found->second);
    }
    std::ofstream out = open_to_append(file_);
    out << row << '\n' << std::flush;
    if (!out) throw system_error("{}: cannot write{}", file_.string(), errno_text());
  }

 private:
  /// Rewrites the file with `num_new` new columns, empty in existing rows.
  void widen(size_t num_new) {
    std::string text = columns_[0];
    for (size_t i = 1; i < columns_.size(); ++i) text.append(",").append(cell(columns_[i]));
    text += '\n';
    if (is_there(file_)) {
      std::ifstream in = open_to_read(file_);
      std::string row;
      std::getline(in, row);  // the header
      while (std::getline(in, row)) text += row + std::string(num_new, ',') + "\n";
    }
    write_file_atomic(file_, text);
  }

  fs::path file_;
  std::vector<std::string> columns_;
};

}  // namespace

std::unique_ptr<Sink> make_csv_sink(const fs::path& file) {
  return std::make_unique<CsvSink>(file);
}

}  // namespace roll
