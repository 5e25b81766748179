// Words that other trainers have for keys, and people bring along: "lr", "beta", "micro_batch_size". Their tables know
// most (table.h); here stand those that several keys make together, and what has no home in one trainer.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace roll {

struct ForeignWord {
  std::vector<std::string> keys;  // of ours, as paths of a training; empty: there is none
  std::string how;                // what else it takes, or why there is none; may be empty beside keys
};

/// `word` in upper or lower case, with dashes or underscores; nullopt: nobody's.
std::optional<ForeignWord> foreign_word(std::string_view word);

/// All that stand here, for tests.
std::vector<std::string> listed_foreign_words();

}  // namespace roll
