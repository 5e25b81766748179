// Reads fine-tuning and preference rows from files; row_forms.h interprets them.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/row_reader.h"
#include "data/rows.h"

namespace roll {

/// Training target: responses, or which of two responses is better.
enum class LearntRows { kResponses, kPairs };

/// Parses a row like parse_row(), but leaves the prompt columns unparsed.
Row parse_learnt_row(const Json& line, const std::string& origin, const RowColumns& columns);

/// Reads a file's rows on demand. Columns are those that `data` names, or a layout recognised by the first row if that
/// has no form of row_forms.h. UserError: as open_rows() and recognise_layout().
class LearntFile {
 public:
  LearntFile(const std::filesystem::path& file, const DataArgs& data, LearntRows kind);
  /// Reads the next row; false at the end. UserError: the row is not usable.
  bool next(Row& row);
  const RowColumns& columns() const { return columns_; }

 private:
  std::string name_;
  LearntRows kind_;
  std::unique_ptr<RowReader> reader_;
  RowColumns columns_;
  bool is_first_ = true;
};

/// Calls `take` with batches of rows, each from one file. UserError: as expand_files() and LearntFile; a file has no
/// rows.
void read_learnt_rows(const DataArgs& data, LearntRows kind,
                      const std::function<void(std::vector<Row>& rows, const RowColumns& columns)>& take);

/// Returns the columns of a file whose first row is `row`.
RowColumns learnt_columns(const Json& row, const std::string& file, LearntRows kind);

}  // namespace roll
