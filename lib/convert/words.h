// Looks up configuration words that users know from other trainers ("lr", "beta", "micro_batch_size"), to suggest
// roll's keys. Most come from the trainers' tables (table.h); words.cpp lists others.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace roll {

struct ForeignWord {
  std::vector<std::string> keys;  // roll's keys, as paths ("actor_train.training_args.learning_rate"); may be empty
  std::string how;                // with keys: how to use the keys, or empty; without keys: why roll has none
};

/// Looks up `word`; case, and dashes or underscores, make no difference. Returns nullopt if the word is in no table.
std::optional<ForeignWord> foreign_word(std::string_view word);

/// Returns all words that foreign_word() finds, for tests.
std::vector<std::string> listed_foreign_words();

}  // namespace roll
