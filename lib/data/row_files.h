// Rows of several files, in order, each in the columns of its file.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/row_reader.h"
#include "data/rows.h"

namespace roll {

/// The files that data_args.file_name names, one pattern after the other: paths; globs, and folders with what lies in
/// them, sorted by name; data sets of the local Hub cache (`Owner/Name`, with a folder of it: `openai/gsm8k/main`). Of
/// folders and data sets `split` chooses files by their first word, or by their folder's name: `train-00000.parquet`,
/// `test/a.jsonl`. UserError: a pattern names nothing, a file is named twice, a folder has several splits and none is
/// chosen, or rows in several folders.
std::vector<std::filesystem::path> expand_files(const std::vector<std::string>& patterns,
                                                const std::optional<std::string>& split = {});

/// A file's rows, read on demand.
class RowFile {
 public:
  /// Where `columns` name no prompt, the layout is recognised by the first row (row_columns.h). UserError: see
  /// open_rows(), recognise_layout().
  RowFile(const std::filesystem::path& file, const RowColumns& columns);

  /// False behind the last row. BadRow: the row is not usable (parse_row()), and the next call goes on behind it.
  /// UserError: the file cannot be read any further.
  bool next(Row& row);

  const RowColumns& columns() const { return columns_; }
  /// "rows.parquet: read as MATH's: question: problem, ..."; "" where that was not recognised but told, or is our own.
  const std::string& layout_note() const { return note_; }

 private:
  std::string name_, note_;
  std::unique_ptr<RowReader> reader_;
  RowColumns columns_;
  Json json_;                // the row that was read last
  bool is_waiting_ = false;  // json_ was read ahead
};

/// All rows of all files, one after another. UserError: RowFile's, BadRow among them; a file without rows.
void for_each_row(const std::vector<std::filesystem::path>& files, const RowColumns& columns,
                  const std::function<void(Row row, const RowFile& file)>& take);

/// What becomes of rows that come some at a time, in bounded memory.
struct RowSink {
  std::function<void(std::vector<Row>& rows)> take;
  std::function<void(const std::string& note)> note_layout;  // RowFile::layout_note(), where it says something
  std::function<void(const BadRow& bad)> refuse{};           // none: it is thrown
};

/// UserError: for_each_row()'s; with `refuse` a file may be without rows.
void read_batches(const DataArgs& data, const RowSink& sink);

}  // namespace roll
