// What other trainers call the keys of a configuration, where one of their words stands in it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/walk.h"
#include "convert/words.h"

namespace roll {

/// foreign_word() with those of its keys that are among `paths`; where it speaks of the policy and the paths are a
/// fine-tuning's, of sft_train. nullopt: nothing is left.
std::optional<ForeignWord> word_among(const std::vector<std::string>& paths, const std::string& word);

/// "here it is actor_train.training_args.learning_rate", or why there is none.
std::string text_of(const ForeignWord& word);

/// "; here it is ..." for a configuration of type T; "" where nobody has such a word.
template <HasFields T>
std::string foreign_advice(const std::string& word) {
  T example;
  std::vector<std::string> paths;
  walk(
      example, [&](const KeyInfo& info, auto&) { paths.push_back(info.path); }, /*with_examples=*/true);
  const auto known = word_among(paths, word);
  return known ? "; " + text_of(*known) : "";
}

}  // namespace roll
