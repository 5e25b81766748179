// Looks up words that users know from other trainers ("lr", "beta", "micro_batch_size"), to suggest roll's keys. Most
// come from the trainers' tables (table.h); words.cpp adds combined keys and words of no single trainer.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace roll {

struct ForeignWord {
  std::vector<std::string> keys;  // roll's keys, as paths; empty: there is no counterpart
  std::string how;                // further conditions, or the reason; may be empty if there are keys
};

/// Looks up `word`, ignoring case, with dashes or underscores; nullopt if no trainer has it.
std::optional<ForeignWord> foreign_word(std::string_view word);

/// Returns all listed words, for tests.
std::vector<std::string> listed_foreign_words();

}  // namespace roll
