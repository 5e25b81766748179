// Reads the rows of fine-tuning and preference files, for `roll sft` and `roll dpo`. Such rows hold responses that the
// model learns. Prompt and response stay unparsed in Row::raw; row_forms.h interprets them.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/row_reader.h"
#include "data/rows.h"

namespace roll {

/// Content of the rows: a response to learn (fine-tuning), or a better and a worse response (preferences).
enum class LearntRows { kResponses, kPairs };

/// Parses id, source, difficulty, tag, domain and ground truth like parse_row() (data/rows.h), but no prompt: messages,
/// prompt and tools stay unset. `origin`: "file:line", for errors.
Row parse_learnt_row(const Json& line, const std::string& origin, const RowColumns& columns);

/// Reads a file's rows on demand. The columns are those that `data` names; if it names none for the prompt, those that
/// learnt_columns() finds in the first row.
class LearntFile {
 public:
  /// Throws UserError if open_rows() cannot open the file.
  LearntFile(const std::filesystem::path& file, const DataArgs& data, LearntRows kind);
  /// Reads the next row; returns false at the end. Throws UserError if the row is malformed, or if two known layouts
  /// match the first row.
  bool next(Row& row);
  /// Returns the columns by which rows are read. Call it after the first next(), which may recognise them.
  const RowColumns& columns() const { return columns_; }

 private:
  std::string name_;
  LearntRows kind_;
  std::unique_ptr<RowReader> reader_;
  RowColumns columns_;
  bool is_first_ = true;
};

/// Reads all files of data.file_name and calls `take` with batches of up to 1024 rows. The rows of a batch come from
/// one file; `columns` are that file's. Throws UserError if the file names match nothing or a file has no rows, and as
/// LearntFile does.
void read_learnt_rows(const DataArgs& data, LearntRows kind,
                      const std::function<void(std::vector<Row>& rows, const RowColumns& columns)>& take);

/// Returns the prompt columns of a file whose first row is `row`, for a configuration that names none. Fine-tuning:
/// those of Alpaca's or another known layout (recognise_layout()). Preferences, and other rows: no columns, because
/// row_forms.h reads the row as it is. `file`: its name, for errors. Throws UserError if two layouts match.
RowColumns learnt_columns(const Json& row, const std::string& file, LearntRows kind);

}  // namespace roll
