// Rows to learn from, as they stand in files: what they hold is found by row_forms.h.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/row_reader.h"
#include "data/rows.h"

namespace roll {

/// Responses are learnt, or which of two is better.
enum class LearntRows { kResponses, kPairs };

/// Does as parse_row(), but for the prompt, which stays where it is.
Row parse_learnt_row(const Json& line, const std::string& origin, const RowColumns& columns);

/// A file's rows, read on demand, and the columns in which they are: those that `data` names, or a layout that is
/// recognised by the first row where that has no form of row_forms.h. UserError: open_rows(), recognise_layout().
class LearntFile {
 public:
  LearntFile(const std::filesystem::path& file, const DataArgs& data, LearntRows kind);
  /// False behind the last row. UserError: the row is not usable.
  bool next(Row& row);
  const RowColumns& columns() const { return columns_; }

 private:
  std::string name_;
  LearntRows kind_;
  std::unique_ptr<RowReader> reader_;
  RowColumns columns_;
  bool is_first_ = true;
};

/// Rows of all files, some of one file at a time. UserError: expand_files(), LearntFile; a file without rows.
void read_learnt_rows(const DataArgs& data, LearntRows kind,
                      const std::function<void(std::vector<Row>& rows, const RowColumns& columns)>& take);

/// The columns of a file whose first row is `row`.
RowColumns learnt_columns(const Json& row, const std::string& file, LearntRows kind);

}  // namespace roll
