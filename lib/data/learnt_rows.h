// Rows to learn from, as they stand in files: what they hold is found by row_forms.h.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "data/rows.h"

namespace roll {

/// Responses are learnt, or which of two is better.
enum class LearntRows { kResponses, kPairs };

/// Does as parse_row(), but for the prompt, which stays where it is.
Row parse_learnt_row(const Json& line, const std::string& origin, const RowColumns& columns);

/// Rows of data's files, some of one file at a time, and the columns in which they are: those that data names, or a
/// layout that is recognised by the file's first row where that has no form of row_forms.h. UserError: row_files.h's.
void read_learnt_rows(const DataArgs& data, LearntRows kind,
                      const std::function<void(std::vector<Row>& rows, const RowColumns& columns)>& take);

/// The columns of a file whose first row is `row`.
RowColumns learnt_columns(const Json& row, const std::string& file, LearntRows kind);

}  // namespace roll
