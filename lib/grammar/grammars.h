// Grammars over the tokens of one vocabulary, compiled when they are first asked for and kept while they are used.
//
// Grammars come from strangers. Each is compiled by a program of its own with limits of time and memory, one at a time,
// and all that are in use share a limit of memory.
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

/// Too many wait for theirs, or use others; later it may be compiled.
struct GrammarsBusy : SystemError {
  using SystemError::SystemError;
};

class Grammars {
 public:
  /// `tokens` is asked once, with the first grammar.
  explicit Grammars(std::function<TokenTexts()> tokens) : tokens_(std::move(tokens)) {}

  /// `ebnf`: rules as ebnf.h writes them, of which `root` is the response. Any thread; takes milliseconds to seconds
  /// unless it is known. UserError, opened by `key`: it is beyond the limits, or this roll was built without xgrammar.
  /// GrammarsBusy.
  std::shared_ptr<const TokenConstraint> constraint(const std::string& ebnf, const std::string& key);

 private:
  struct Known {
    std::string ebnf;
    std::shared_ptr<const TokenConstraint> constraint;
  };
  std::shared_ptr<const TokenConstraint> known(const std::string& ebnf);
  void keep(const std::string& ebnf, const std::shared_ptr<const TokenConstraint>& constraint);
  void load(const std::string& key);
  size_t num_bytes_in_use();

  const std::function<TokenTexts()> tokens_;
  std::timed_mutex compiling_;
  Descriptor vocabulary_;  // a file in memory
  std::unique_ptr<GrammarTokens> library_;
  std::mutex mutex_;
  std::list<Known> known_;  // the latest first
  std::vector<std::weak_ptr<const TokenConstraint>> in_use_;
};

}  // namespace roll
