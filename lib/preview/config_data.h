// Inspects all data rows of a configuration before a run, with the run's tokenizer, chat template and rewards, for
// `roll validate-config`.
#pragma once

#include <string>
#include <vector>

#include "settings/config.h"
#include "settings/dpo_config.h"

namespace roll {

/// Findings about the data of a configuration.
struct ConfigData {
  std::vector<std::string> lines;     // text to print: a line per data set and domain
  std::vector<std::string> warnings;  // each with a remedy
  // Number of tokens of each training row that is not dropped: of its prompt for `roll train`, else of all its
  // sequences. Empty if the tokenizer or the rows are missing.
  std::vector<int64_t> lengths{};
  int64_t learnt = 0;                           // number of training tokens with loss; 0 for `roll train`
  std::vector<std::vector<int64_t>> prompts{};  // token ids of up to 32 training prompts; only for `roll train`
};

/// Inspects the rows of training, validation and validation.sets of `roll train`. `config` must come from
/// load_config(). `offline`: missing files become a line, and reward code of the user is not run. Throws UserError if
/// training would refuse a row, all rows of a domain are too long, or reward code of the user returns no reward.
ConfigData view_data(const Config& config, bool offline);
/// Inspects the rows of `roll sft` and `roll distill`: lengths, and the share of tokens with loss.
ConfigData view_data(const RowConfig& config, bool offline);
/// Inspects the rows of `roll dpo`: lengths of chosen and rejected responses.
ConfigData view_data(const DpoConfig& config, bool offline);

}  // namespace roll
