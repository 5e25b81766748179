// Computes statistics of data rows per domain, for config_data.h and data_report.h. It counts prompt lengths, rows that
// a run would drop, and gold responses (the rows' own answers) that the reward does not score as right.
#pragma once

#include <string>
#include <vector>

#include "data/row_store.h"
#include "preview/golds.h"
#include "preview/lengths.h"
#include "settings/reward_rows.h"
#include "text/tokenizer.h"

namespace roll {

/// Statistics of one domain.
struct DomainView {
  std::string domain;
  int64_t num_rows = 0;
  LengthSummary prompts;   // lengths of all prompts, in tokens; in characters without a tokenizer
  int64_t shortest = 0;    // length of the shortest prompt, in the same unit
  int64_t dropped = 0;     // rows with an empty prompt or one longer than prompt_length; 0 without a tokenizer
  int64_t long_golds = 0;  // gold responses of more than response_length tokens; 0 without a tokenizer
  Golds golds;
};

/// Settings for viewing rows.
struct ViewSettings {
  const Tokenizer* tokenizer = nullptr;            // null: lengths in characters
  int64_t prompt_length = 0, response_length = 0;  // tokens; 0: no limit
  int64_t max_golds = 0;                           // largest number of gold responses to score, per domain
};

/// Returns one view per domain of `rows`, sorted by name. Rows must have their domain and, with a tokenizer,
/// prompt_ids. `rules`: rewards by domain; no golds are scored in a domain without a reward.
std::vector<DomainView> make_domain_views(const RowStore& rows, const DomainRules& rules, const ViewSettings& settings);

/// Returns e.g. "math_rule: 600 rows; prompts in tokens: p50 103, ...; 3 dropped; 598 of 600 gold answers scored as
/// right".
std::string summary_line(const DomainView& view, const ViewSettings& settings);
/// Returns warnings about dropped rows and golds, each with a remedy.
std::vector<std::string> domain_warnings(const DomainView& view, const ViewSettings& settings);

}  // namespace roll
