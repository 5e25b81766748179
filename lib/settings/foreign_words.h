// Suggests roll's key for a word that another trainer (such as TRL or verl) uses, in messages about unknown keys and in
// `roll keys`. foreign_word() in convert/words.h has the list of words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/member.h"
#include "convert/words.h"

namespace roll {

/// Looks up `word` and keeps only the keys that are in `paths` (the keys of a command). A key actor_train.X that is not
/// in `paths` becomes sft_train.X. Returns nullopt if the word is unknown or no key remains; a word that has no
/// counterpart in roll at all is returned with the reason.
std::optional<ForeignWord> word_among(const std::vector<std::string>& paths, const std::string& word);

/// Returns "here it is actor_train.training_args.learning_rate"; if roll has no counterpart, the reason.
std::string word_text(const ForeignWord& word);

/// Returns "; " and word_text(), to append to an error about the unknown key `word`; "" if word_among() finds nothing.
/// `example`: any configuration of the type that is being read; its keys are suggested.
std::string foreign_advice(const AnyMember& example, const std::string& word);
/// Does the same with a default configuration of type T as example.
template <HasFields T>
std::string foreign_advice(const std::string& word) {
  return foreign_advice(T(), word);
}

}  // namespace roll
