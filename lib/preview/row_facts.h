// What a set of data rows holds, whatever it is for: columns, tags, repeated prompts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "data/rows.h"

namespace roll {

struct RowFacts {
  std::map<std::string, int64_t> columns;  // rows that have something in the column
  std::map<std::string, int64_t> tags, domains;
  int64_t repeated = 0;             // rows whose prompt an earlier row has
  int64_t contradicting = 0;        // of those, with another ground truth
  std::string first_contradiction;  // "rows.jsonl:9 has the prompt of rows.jsonl:4"
};

/// Of rows that come one by one: 40 bytes are kept of each.
class FactsOfRows {
 public:
  void add(const Row& row);
  const RowFacts& all() const { return facts_; }

 private:
  struct Origin {
    int64_t file, number;
  };
  struct Seen {
    Origin origin;
    uint64_t ground_truth;  // hash
  };

  Origin number_of(const std::string& origin);
  std::string origin_of(const Origin& origin) const;

  RowFacts facts_;
  std::vector<std::string> files_;
  std::unordered_map<uint64_t, Seen> first_with_;  // by the prompt's hash
};

RowFacts facts_of(const std::vector<Row>& rows);

/// The messages as one line of JSON, or the prompt.
std::string prompt_text(const Row& row);

/// "deepmath_103k 600, gsm8k 12", the largest first, at most so many of them; "none".
std::string counts_text(const std::map<std::string, int64_t>& counts, size_t most = 10);

}  // namespace roll
