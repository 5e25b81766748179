// Suggests roll's key for a word of another trainer, in messages about unknown keys and in `roll keys`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/member.h"
#include "convert/words.h"

namespace roll {

/// Returns foreign_word() with only the keys that are among `paths`. Keys of actor_train become sft_train's if only
/// that is among them. nullopt: the word is unknown, or none of its keys remains.
std::optional<ForeignWord> word_among(const std::vector<std::string>& paths, const std::string& word);

/// Returns "here it is actor_train.training_args.learning_rate", or the reason if there is no counterpart.
std::string word_text(const ForeignWord& word);

/// Returns "; here it is ..." for a configuration of `example`'s type; "" if no trainer has such a word.
std::string foreign_advice(const AnyMember& example, const std::string& word);
template <HasFields T>
std::string foreign_advice(const std::string& word) {
  return foreign_advice(T(), word);
}

}  // namespace roll
