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

  /// Changes `text` (valid UTF-8) in place. UserError when a hostile chain of replacements lets it grow without sense.
  void apply(std::string& text, MatchMemory& memory) const;

 private:
  using Step = std::function<void(std::string& text, size_t most, MatchMemory& memory)>;
  void add(const JsonView& json, int depth);
  std::vector<Step> steps_;
  std::string where_;  // opens messages
};

}  // namespace roll
