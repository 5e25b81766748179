#include "data/learnt_rows.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "data/row_files.h"

namespace roll {

namespace {

constexpr size_t kMostRows = 1024, kMostBytes = 32 << 20;  // per batch

bool has_known_columns(const Json& row) {
  return std::ranges::any_of(std::array{"messages", "conversations", "prompt", "text"},
                             [&](const char* name) { return row.contains(name); });
}

void read_file(const std::filesystem::path& path, const DataArgs& data, LearntRows kind,
               const std::function<void(std::vector<Row>& rows, const RowColumns& columns)>& take) {
  LearntFile file(path, data, kind);
  std::vector<Row> rows;
  size_t bytes = 0;
  int64_t count = 0;
  const auto flush = [&] {
    if (!rows.empty()) take(rows, file.columns());
    rows.clear();
    bytes = 0;
  };
  for (Row row; file.next(row); ++count) {
    bytes += num_bytes(row.raw);
    rows.push_back(std::move(row));
    if (rows.size() == kMostRows || bytes > kMostBytes) flush();
  }
  if (count == 0) throw user_error("{}: has no rows", path.string());
  flush();
}

}  // namespace

LearntFile::LearntFile(const std::filesystem::path& file, const DataArgs& data, LearntRows kind)
    : name_(file.string()), kind_(kind), reader_(open_rows(file)), columns_(configured_columns(data)) {}

bool LearntFile::next(Row& row) {
  Json json;
  if (!reader_->next(json)) return false;
  if (std::exchange(is_first_, false) && !columns_.names_prompt()) {
    RowColumns found = learnt_columns(json, name_, kind_);
    found.system = columns_.system;
    found.prompt_template = columns_.prompt_template;
    columns_ = std::move(found);
  }
  row = parse_learnt_row(json, fmt::format("{}:{}", name_, reader_->number()), columns_);
  return true;
}

RowColumns learnt_columns(const Json& row, const std::string& file, LearntRows kind) {
  if (kind == LearntRows::kPairs || has_known_columns(row)) return {};
  if (row.contains("instruction") && row.contains("output")) return {.question = "instruction", .query = "input"};
  const auto layout = recognise_layout(row, file);
  return layout ? RowColumns{.question = layout->columns.question} : RowColumns{};
}

void read_learnt_rows(const DataArgs& data, LearntRows kind,
                      const std::function<void(std::vector<Row>& rows, const RowColumns& columns)>& take) {
  for (const std::filesystem::path& path : expand_files(data.file_name, data.split)) read_file(path, data, kind, take);
}

}  // namespace roll
