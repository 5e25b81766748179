// What a run would make of its data rows, domain by domain: how long the prompts are, which rows it would drop, and
// whether its rewards give what the rows hold to be right their best score.
#pragma once

#include <string>
#include <vector>

#include "data/row_store.h"
#include "preview/golds.h"
#include "preview/lengths.h"
#include "settings/reward_rows.h"
#include "text/tokenizer.h"

namespace roll {

struct DomainView {
  std::string domain;
  int64_t num_rows = 0;
  LengthSummary prompts;   // tokens, or characters where there is no tokenizer
  int64_t shortest = 0;    // prompt
  int64_t dropped = 0;     // rows that are empty, or longer than prompt_length
  int64_t long_golds = 0;  // golds that alone are longer than response_length
  Golds golds;
};

/// How to look at rows.
struct DataLens {
  const Tokenizer* tokenizer = nullptr;            // none: lengths are in characters
  int64_t prompt_length = 0, response_length = 0;  // tokens; 0: no bound
  int64_t most_golds = 0;                          // of a domain
};

/// Rows have their domains and, with a tokenizer, their prompt_ids. In the order of the domains' names.
std::vector<DomainView> view_of(const RowStore& rows, const DomainRules& rules, const DataLens& lens);

/// "math_rule: 600 rows, prompts in tokens: p50 103, ...; 3 are dropped; golds: 598 of 600 are scored right"
std::string line_of(const DomainView& view, const DataLens& lens);
/// What is worth a word, each with a remedy.
std::vector<std::string> warnings_of(const DomainView& view, const DataLens& lens);

}  // namespace roll
