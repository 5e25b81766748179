// Reads the rows of several files in order, each with its own column mapping.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/row_reader.h"
#include "data/rows.h"

namespace roll {

/// Expands data_args.file_name, pattern by pattern: paths, globs, folders (files sorted by name), and data sets of the
/// local Hub cache (`Owner/Name`, or a folder in it: `openai/gsm8k/main`). In folders and data sets, `split` selects
/// files by the first word of their name or by their folder: `train-00000.parquet`, `test/a.jsonl`. UserError: a
/// pattern matches nothing, a file appears twice, several splits but no `split`, or rows in several folders.
std::vector<std::filesystem::path> expand_files(const std::vector<std::string>& patterns,
                                                const std::optional<std::string>& split = {});

/// Returns the first of `usual` that is a split of one of these folders or data sets, if it has several; else nullopt.
std::optional<std::string> usual_split(const std::vector<std::string>& patterns, const std::vector<std::string>& usual);

/// Reads a file's rows on demand.
class RowFile {
 public:
  /// If `columns` names no prompt, recognises the layout by the first row (row_columns.h). UserError: as open_rows()
  /// and recognise_layout().
  RowFile(const std::filesystem::path& file, const RowColumns& columns);

  /// Reads the next row; false at the end. BadRow: parse_row() rejects the row; the next call continues after it.
  /// UserError: the file cannot be read further.
  bool next(Row& row);

  const RowColumns& columns() const { return columns_; }
  /// Returns e.g. "rows.parquet: read as MATH's: question: problem, ..."; "" if the columns are configured or roll's
  /// own.
  const std::string& layout_note() const { return note_; }

 private:
  std::string name_, note_;
  std::unique_ptr<RowReader> reader_;
  RowColumns columns_;
  Json json_;                    // the row read last
  bool has_read_ahead_ = false;  // json_ was read ahead
};

/// Calls `take` for every row of all files. UserError: as RowFile, including BadRow; a file has no rows.
void for_each_row(const std::vector<std::filesystem::path>& files, const RowColumns& columns,
                  const std::function<void(Row row, const RowFile& file)>& take);

/// Consumer of rows in batches of bounded memory.
struct RowSink {
  std::function<void(std::vector<Row>& rows)> take;
  std::function<void(const std::string& note)> note_layout;  // RowFile::layout_note(), if not empty
  std::function<void(const BadRow& bad)> refuse{};           // unset: throws
};

/// Passes all rows to `sink` in batches. UserError: as for_each_row(); with `refuse`, files may have no rows.
void read_batches(const DataArgs& data, const RowSink& sink);

}  // namespace roll
