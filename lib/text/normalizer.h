// The `normalizer` of a tokenizer.json: rewrites text before it is split.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "text/json_view.h"
#include "text/pattern.h"

namespace roll {

class Normalizer {
 public:
  /// Leaves text unchanged.
  Normalizer() = default;

  /// Supports NFC, NFD, NFKC, NFKD, Lowercase, Replace, Prepend, Strip, Sequence. UserError: the file has another one.
  explicit Normalizer(const JsonView& json);

  bool empty() const { return steps_.empty(); }

  /// Changes `text` (valid UTF-8) in place. continues_text: `text` continues other text, so nothing is prepended.
  /// UserError: replacements inflate the text beyond a limit.
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
  std::string where_;  // prefix of error messages
};

}  // namespace roll
