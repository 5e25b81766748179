// Statistics of data rows as a run would use them, by domain: lengths of prompts, rows that would be dropped, and
// whether the rewards score the rows' own ground truths 1.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/rows.h"
#include "preview/lengths.h"
#include "reward/reward.h"
#include "settings/reward_rows.h"
#include "text/tokenizer.h"

namespace roll {

/// Verdicts on responses made of the rows' own ground truths ("golds"): where these do not score 1, no response can.
struct Golds {
  int64_t asked = 0, right = 0;
  std::vector<std::string> wrong;  // the first few: "file:line: ground_truth ...: scored 0, read as ..."
};

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
std::vector<DomainView> view_of(const std::vector<Row>& rows, const DomainRules& rules, const DataLens& lens);

/// "math_rule: 600 rows, prompts in tokens: p50 103, ...; 3 are dropped; golds: 598 of 600 are scored right"
std::string line_of(const DomainView& view, const DataLens& lens);
/// Warnings about the view, each with a remedy.
std::vector<std::string> warnings_of(const DomainView& view, const DataLens& lens);

/// Scores the gold_response() of up to `most` rows, evenly spread over `rows`; none where the type makes none.
Golds score_golds(const std::vector<const Row*>& rows, RewardFunction& reward, int64_t most);

/// Asks the user's own code for the reward of one row, with the ground truth as response. UserError: it gave none.
void try_out(const Row& row, RewardFunction& reward, const std::string& where);

}  // namespace roll
