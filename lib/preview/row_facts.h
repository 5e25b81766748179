// Counts facts about data rows that do not depend on the reward: columns, tags, repeated prompts. `roll data check`
// prints them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "data/rows.h"

namespace roll {

/// Counts over data rows.
struct RowFacts {
  std::map<std::string, int64_t> columns;        // by column: rows with a value that is neither null nor ""
  std::map<std::string, int64_t> tags, domains;  // number of rows by tag, and by domain
  int64_t repeated = 0;                          // rows with the prompt of an earlier row
  int64_t contradicting = 0;                     // repeated rows with another ground truth than the earlier row
  std::string first_contradiction;               // "rows.jsonl:9 has the prompt of rows.jsonl:4"; "" if there is none
};

/// Collects the facts row by row; keeps about 40 bytes per row.
class RowFactsCollector {
 public:
  void add(const Row& row);
  const RowFacts& facts() const { return facts_; }

 private:
  struct Origin {
    int64_t file, number;
  };
  struct Seen {
    Origin origin;
    uint64_t ground_truth;  // hash
  };

  Origin intern_origin(const std::string& origin);
  std::string origin_text(const Origin& origin) const;

  RowFacts facts_;
  std::vector<std::string> files_;
  std::unordered_map<uint64_t, Seen> first_row_by_prompt_;  // key: hash of the prompt
};

/// Collects the facts of all rows at once.
RowFacts row_facts(const std::vector<Row>& rows);

/// Returns the prompt of a row: its messages as one line of JSON, or its raw text.
std::string prompt_text(const Row& row);

/// Returns e.g. "deepmath_103k 600, gsm8k 12, and 3 more", largest count first, with at most `max_entries` entries;
/// "none" if `counts` is empty.
std::string counts_text(const std::map<std::string, int64_t>& counts, size_t max_entries = 10);

}  // namespace roll
