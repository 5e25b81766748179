// The rows of a configuration, looked at before it runs: all of them, through its own tokenizer, template and rewards.
#pragma once

#include <string>
#include <vector>

#include "settings/config.h"
#include "settings/dpo_config.h"

namespace roll {

struct ConfigData {
  std::vector<std::string> lines;     // one a data set and domain
  std::vector<std::string> warnings;  // each with a remedy
  // Tokens of each training row that is kept: its prompt, or the sequences that are learnt. Empty: nobody could count.
  std::vector<int64_t> lengths{};
  int64_t learnt = 0;                           // of all these, where responses are among them
  std::vector<std::vector<int64_t>> prompts{};  // the first ones that a policy answers
};

/// The training rows, and those of the validation and its sets. `config` is complete and checked. When `offline`, what
/// is not here is only mentioned, and code of the user is not run. UserError: a row that a training would refuse, a
/// domain of which no row is left, code of the user's that gives no reward.
ConfigData view_data(const Config& config, bool offline);
/// As above for a fine-tuning: lengths, and the share of tokens that are learnt.
ConfigData view_data(const SftConfig& config, bool offline);
/// Of pairs: their lengths.
ConfigData view_data(const DpoConfig& config, bool offline);

}  // namespace roll
