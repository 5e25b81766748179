// xgrammar, which says what tokens a grammar lets pass. It is linked with a library of its own, libroll_grammar.so
// beside the program, that is loaded where a request first asks for a grammar, so that the program builds without it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "grammar/token_constraint.h"

namespace roll {

/// The bytes that each token adds to a text; empty: it never comes but as an end. `ends`: tokens that end a response.
struct TokenTexts {
  std::vector<std::string> texts;
  std::vector<int32_t> ends;
};

/// xgrammar's view of a vocabulary.
class GrammarTokens {
 public:
  virtual ~GrammarTokens() = default;
  /// `compiled`: as the program roll_grammar wrote it of the same vocabulary.
  virtual std::shared_ptr<const TokenConstraint> constraint(const std::string& compiled) const = 0;
};

/// What that library exports, as the object `roll_grammar_library`.
struct GrammarLibrary {
  std::unique_ptr<GrammarTokens> (*tokens)(const TokenTexts& tokens);
};

}  // namespace roll
