// Makes xgrammar's description of a vocabulary. libroll_grammar.so and the program roll_grammar share this code,
// because their descriptions must be equal.
#pragma once

#include <xgrammar/xgrammar.h>

#include "grammar/grammar_library.h"

namespace roll {

inline xgrammar::TokenizerInfo xgrammar_tokens(const TokenTexts& tokens) {
  return xgrammar::TokenizerInfo(tokens.texts, xgrammar::VocabType::RAW, static_cast<int>(tokens.texts.size()),
                                 tokens.ends);
}

}  // namespace roll
