// Interface to xgrammar, which computes the tokens that a grammar allows. xgrammar is linked into libroll_grammar.so
// next to the program. grammars.cpp loads this library for the first grammar, so roll also builds without xgrammar.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "grammar/token_constraint.h"

namespace roll {

/// Vocabulary for xgrammar.
struct TokenTexts {
  std::vector<std::string> texts;  // [V] by token id: bytes that the token adds to a text; "": may only end the text
  std::vector<int32_t> ends;       // ids of the tokens that end a response
};

/// xgrammar's data for one vocabulary.
class GrammarTokens {
 public:
  virtual ~GrammarTokens() = default;
  /// Loads a grammar from `compiled`, the output of the program roll_grammar for the same vocabulary. Throws
  /// std::runtime_error if the program has another version of xgrammar.
  virtual std::shared_ptr<const TokenConstraint> constraint(const std::string& compiled) const = 0;
};

/// Entry point, which libroll_grammar.so exports as the symbol `roll_grammar_library`.
struct GrammarLibrary {
  std::unique_ptr<GrammarTokens> (*tokens)(const TokenTexts& tokens);  // makes the data for a vocabulary
};

}  // namespace roll
