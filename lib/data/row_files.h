// Finds the files that data_args.file_name names, and reads and checks their rows in order. Each file has its own
// mapping of columns, because its layout may be recognised.
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
/// files by the first word of their name or by their folder: `train-00000.parquet`, `test/a.jsonl`. Throws UserError if
/// a pattern matches nothing, a file appears twice, a folder has several splits but `split` is unset, or a folder has
/// data files in several subfolders.
std::vector<std::filesystem::path> expand_files(const std::vector<std::string>& patterns,
                                                const std::optional<std::string>& split = {});

/// If a folder or data set in `patterns` has several splits, returns the first name in `usual` (such as "train") that
/// names such a split; else nullopt.
std::optional<std::string> usual_split(const std::vector<std::string>& patterns, const std::vector<std::string>& usual);

/// Reads a file's rows on demand, each checked by parse_row() (data/rows.h).
class RowFile {
 public:
  /// If `columns` names no prompt, recognises the layout by the first row (recognise_layout()); other names and texts
  /// in `columns` then still count. Throws UserError if the file cannot be opened, or if two layouts match.
  RowFile(const std::filesystem::path& file, const RowColumns& columns);
  /// Reads the next row; returns false at the end. Throws BadRow if the row is malformed; the next call then continues
  /// with the row after it. Throws another UserError if the file cannot be read further.
  bool next(Row& row);
  /// Returns the columns by which rows are read, configured or recognised.
  const RowColumns& columns() const { return columns_; }
  /// Returns e.g. "rows.parquet: read as MATH's: question: problem, ..."; "" if no layout was recognised.
  const std::string& layout_note() const { return note_; }

 private:
  std::string name_, note_;
  std::unique_ptr<RowReader> reader_;
  RowColumns columns_;
  Json json_;                    // the row read last
  bool has_read_ahead_ = false;  // json_ was read ahead
};

/// Calls `take` for every row of all files, in order. Throws what RowFile throws, and UserError if a file has no rows.
void for_each_row(const std::vector<std::filesystem::path>& files, const RowColumns& columns,
                  const std::function<void(Row row, const RowFile& file)>& take);

/// Consumer of rows.
struct RowSink {
  std::function<void(std::vector<Row>& rows)> take;  // gets each batch of up to 1024 rows; may move the rows out
  std::function<void(const std::string& note)> note_layout;  // gets RowFile::layout_note() of each file that has one
  std::function<void(const BadRow& bad)> refuse{};           // gets each malformed row; unset: the BadRow is thrown
};
/// Passes all rows of data.file_name to `sink`, in order. Throws UserError if the file names match nothing, and as
/// for_each_row(); if sink.refuse is set, malformed rows and files without rows are no errors.
void read_batches(const DataArgs& data, const RowSink& sink);

}  // namespace roll
