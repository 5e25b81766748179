// Inspects all data rows of a configuration before it runs, with its own tokenizer, template and rewards.
#pragma once

#include <string>
#include <vector>

#include "settings/config.h"
#include "settings/dpo_config.h"

namespace roll {

/// Findings about the data of a configuration.
struct ConfigData {
  std::vector<std::string> lines;     // one per data set and domain
  std::vector<std::string> warnings;  // each with a remedy
  // Tokens per kept training row: its prompt, or its training sequences. Empty if they cannot be counted here.
  std::vector<int64_t> lengths{};
  int64_t learnt = 0;                           // tokens with loss, for fine-tuning and preference rows
  std::vector<std::vector<int64_t>> prompts{};  // the first training prompts
};

/// Inspects the rows of the training, the validation and its sets. `config` is complete and checked. `offline` skips
/// missing files with a note and never runs the user's code. UserError: a row that training would refuse, a domain
/// whose rows are all too long, user code that returns no reward.
ConfigData view_data(const Config& config, bool offline);
/// Same for a fine-tuning: lengths, and the share of tokens with loss.
ConfigData view_data(const RowConfig& config, bool offline);
/// Same for preference pairs: lengths of chosen and rejected responses.
ConfigData view_data(const DpoConfig& config, bool offline);

}  // namespace roll
