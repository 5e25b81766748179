// What other trainers call the keys of a configuration, where one of their words stands in it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/member.h"
#include "convert/words.h"

namespace roll {

/// foreign_word() with those of its keys that are among `paths`; where it speaks of the policy and the paths are a
/// fine-tuning's, of sft_train. nullopt: nothing is left.
std::optional<ForeignWord> word_among(const std::vector<std::string>& paths, const std::string& word);

/// "here it is actor_train.training_args.learning_rate", or why there is none.
std::string text_of(const ForeignWord& word);

/// "; here it is ..." for a configuration like `example`; "" where nobody has such a word.
std::string foreign_advice_of(const AnyMember& example, const std::string& word);
template <HasFields T>
std::string foreign_advice(const std::string& word) {
  return foreign_advice_of(T(), word);
}

}  // namespace roll
