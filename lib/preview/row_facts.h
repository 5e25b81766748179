// Facts of a set of data rows: columns, tags, repeated prompts, lines that are no rows.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/rows.h"

namespace roll {

struct FoundRows {
  std::vector<Row> rows;
  std::vector<std::string> bad;  // "file:line: what is wrong", in order
};

/// read_rows() that goes on behind a line that is no row. UserError: files that are not there.
FoundRows find_rows(const std::vector<std::string>& patterns, const PromptColumns& columns);

struct RowFacts {
  std::map<std::string, int64_t> columns;  // rows that have something in the column
  std::map<std::string, int64_t> tags, domains;
  int64_t repeated = 0;             // rows whose prompt an earlier row has
  int64_t contradicting = 0;        // of those, with another ground truth
  std::string first_contradiction;  // "rows.jsonl:9 has the prompt of rows.jsonl:4"
};

RowFacts facts_of(const std::vector<Row>& rows);

/// The messages as one line of JSON, or the prompt.
std::string prompt_text(const Row& row);

/// "deepmath_103k 600, gsm8k 12", the largest first, at most so many of them; "none".
std::string counts_text(const std::map<std::string, int64_t>& counts, size_t most = 10);

}  // namespace roll
