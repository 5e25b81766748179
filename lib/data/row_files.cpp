#include "data/row_files.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace roll {

namespace fs = std::filesystem;

RowFile::RowFile(const fs::path& file, const RowColumns& columns)
    : name_(file.string()), reader_(open_rows(file)), columns_(columns) {
  if (columns.names_prompt()) return;
  try {
    has_read_ahead_ = reader_->next(json_);
  } catch (const BadRow&) {
    reader_ = open_rows(file);  // next() will report it; the columns are taken as roll's own
    return;
  }
  const auto layout = has_read_ahead_ ? recognise_layout(json_, name_) : std::nullopt;
  if (!layout) return;
  const RowColumns configured = std::exchange(columns_, layout->columns);
  if (configured.ground_truth || configured.ground_truth_part != GroundTruthPart::kWhole) {
    columns_.ground_truth = configured.ground_truth;
    columns_.ground_truth_part = configured.ground_truth_part;
  }
  if (configured.tag) columns_.tag = configured.tag;
  if (configured.domain) columns_.domain = configured.domain;
  columns_.system = configured.system;
  columns_.prompt_template = configured.prompt_template;
  note_ = fmt::format("{}: read as {}: {}", name_, layout->name, to_text(columns_));
}

bool RowFile::next(Row& row) {
  if (!std::exchange(has_read_ahead_, false) && !reader_->next(json_)) return false;
  try {
    row = parse_row(json_, fmt::format("{}:{}", name_, reader_->number()), columns_);
  } catch (const UserError& e) {
    throw BadRow(e.what());
  }
  return true;
}

void for_each_row(const std::vector<fs::path>& files, const RowColumns& columns,
                  const std::function<void(Row row, const RowFile& file)>& take) {
  for (const fs::path& file : files) {
    RowFile rows(file, columns);
    int64_t count = 0;
    for (Row row; rows.next(row); ++count) take(std::move(row), rows);
    if (count == 0) throw user_error("{}: has no rows", file.string());
  }
}

namespace {

constexpr size_t kRowsAtOnce = 1024, kBytesAtOnce = 32 << 20;

/// Reads the next usable row; false at the end. Passes bad rows to sink.refuse.
bool next_usable(RowFile& file, Row& row, const RowSink& sink) {
  for (;;) try {
      return file.next(row);
    } catch (const BadRow& bad) {
      if (!sink.refuse) throw;
      sink.refuse(bad);
    }
}

}  // namespace

void read_batches(const DataArgs& data, const RowSink& sink) {
  std::vector<Row> rows;
  size_t bytes = 0;
  const auto flush = [&] {
    sink.take(rows);
    rows.clear();
    bytes = 0;
  };
  for (const fs::path& path : expand_files(data.file_name, data.split)) {
    RowFile file(path, configured_columns(data));
    if (!file.layout_note().empty()) sink.note_layout(file.layout_note());
    int64_t count = 0;
    for (Row row; next_usable(file, row, sink); ++count) {
      bytes += num_bytes(row.raw);
      rows.push_back(std::move(row));
      if (rows.size() == kRowsAtOnce || bytes > kBytesAtOnce) flush();
    }
    if (count == 0 && !sink.refuse) throw user_error("{}: has no rows", path.string());
  }
  if (!rows.empty()) flush();
}

}  // namespace roll
