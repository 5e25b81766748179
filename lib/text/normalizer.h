// The `normalizer` of a tokenizer.json: what happens to text before it is split.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "text/json_view.h"
#include "text/pattern.h"

namespace roll {

class Normalizer {
 public:
  /// Does nothing.
  Normalizer() = default;

  /// Supported: NFC, NFD, NFKC, NFKD, Lowercase, Replace, Prepend, Strip, Sequence. UserError names another one.
  explicit Normalizer(const JsonView& json);

  bool empty() const { return steps_.empty(); }

  /// Changes `text` (valid UTF-8) in place. goes_on: it stands behind other text, so nothing is prepended. UserError
  /// when a hostile chain of replacements lets it grow without sense.
  void apply(std::string& text, MatchMemory& memory, bool goes_on = false) const;

 private:
  struct Call {
    size_t most;  // bytes that the text may have
    bool goes_on;
    MatchMemory& memory;
  };
  using Step = std::function<void(std::string& text, const Call& call)>;
  void add(const JsonView& json, int depth);
  std::vector<Step> steps_;
  std::string where_;  // opens messages
};

}  // namespace roll
