// Compiles grammars over the tokens of a vocabulary on request, and caches them; used by `roll serve`.
//
// Grammars come from untrusted clients. Each is compiled in a separate process (roll_grammar) with limits on time and
// memory, one at a time. All grammars in use share a memory limit.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/error.h"
#include "grammar/grammar_library.h"

namespace roll {

/// Too many grammars are waiting to be compiled or in use; a later try may succeed.
struct GrammarsBusy : SystemError {
  using SystemError::SystemError;
};

class Grammars {
 public:
  /// `tokens` returns the vocabulary; it is called once, for the first grammar.
  explicit Grammars(std::function<TokenTexts()> tokens) : tokens_(std::move(tokens)) {}

  /// Returns the compiled grammar `ebnf` (rules as in ebnf.h; the rule `root` is the whole response). Thread-safe;
  /// takes milliseconds to seconds unless cached. `key`: the request's key that asks for the grammar
  /// ("response_format"), the start of error messages. Throws UserError if the grammar exceeds the limits of
  /// token_texts.h, or if roll was built without xgrammar. Throws GrammarsBusy if compiling must wait for more than 20
  /// s, or the grammars in use take more than 64 MiB; SystemError if the process cannot be started.
  std::shared_ptr<const TokenConstraint> constraint(const std::string& ebnf, const std::string& key);

 private:
  struct CachedGrammar {
    std::string ebnf;
    std::shared_ptr<const TokenConstraint> constraint;
  };
  std::shared_ptr<const TokenConstraint> find_cached(const std::string& ebnf);
  void add_to_cache(const std::string& ebnf, const std::shared_ptr<const TokenConstraint>& constraint);
  void load_library(const std::string& key);
  size_t num_bytes_in_use();

  const std::function<TokenTexts()> tokens_;
  std::timed_mutex compile_mutex_;
  Descriptor vocabulary_;  // memory file (memfd) with pack_token_texts(); unset before the first grammar
  std::unique_ptr<GrammarTokens> library_;  // null before the first grammar
  std::mutex mutex_;                        // guards the members below
  std::list<CachedGrammar> cache_;          // most recently used first
  std::vector<std::weak_ptr<const TokenConstraint>> grammars_in_use_;
};

}  // namespace roll
