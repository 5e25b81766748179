// Rewrites text before it is split into words, as the `normalizer` of a tokenizer.json says; used by Tokenizer.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "text/json_view.h"
#include "text/pattern.h"

namespace roll {

/// Immutable and thread-safe; each thread needs its own MatchMemory.
class Normalizer {
 public:
  /// Leaves text unchanged.
  Normalizer() = default;

  /// Supports NFC, NFD, NFKC, NFKD, Lowercase, Replace, Prepend, Strip, Sequence. Throws UserError for others.
  explicit Normalizer(const JsonView& json);

  /// Returns true if apply() changes nothing.
  bool empty() const { return steps_.empty(); }

  /// Changes `text` (valid UTF-8) in place. `memory`: scratch space. If `continues_text`, other text comes before
  /// `text`, so Prepend adds nothing. Throws UserError if the text grows to more than 16 times its bytes plus 64 KiB.
  void apply(std::string& text, MatchMemory& memory, bool continues_text = false) const;

 private:
  struct Call {
    size_t max_bytes;  // maximum bytes of the text
    bool continues_text;
    MatchMemory& memory;
  };
  using Step = std::function<void(std::string& text, const Call& call)>;
  void add(const JsonView& json, int depth);
  std::vector<Step> steps_;
  std::string where_;  // beginning of error messages: "FILE: PATH"
};

}  // namespace roll
