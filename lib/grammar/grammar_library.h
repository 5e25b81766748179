// Interface to xgrammar, which computes the tokens that a grammar allows. xgrammar is linked into libroll_grammar.so,
// next to the program and loaded at the first request with a grammar, so that roll builds without it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "grammar/token_constraint.h"

namespace roll {

/// Bytes that each token adds to a text (empty: the token is allowed only if it ends a response), and the tokens that
/// end a response.
struct TokenTexts {
  std::vector<std::string> texts;
  std::vector<int32_t> ends;
};

/// xgrammar's data for one vocabulary.
class GrammarTokens {
 public:
  virtual ~GrammarTokens() = default;
  /// Loads a grammar that the program roll_grammar compiled for the same vocabulary.
  virtual std::shared_ptr<const TokenConstraint> constraint(const std::string& compiled) const = 0;
};

/// Exported by the library as the symbol `roll_grammar_library`.
struct GrammarLibrary {
  std::unique_ptr<GrammarTokens> (*tokens)(const TokenTexts& tokens);
};

}  // namespace roll
