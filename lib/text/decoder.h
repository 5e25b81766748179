// The `decoder` of a tokenizer.json: from tokens back to text.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "text/json_view.h"

namespace roll {

class Decoder {
 public:
  /// The tokens as the file spells them, with spaces between.
  Decoder() = default;

  /// Supported: ByteLevel, alone or followed by Fuse; Replace, ByteFallback, Fuse, Strip (on the left), Metaspace, and
  /// Sequences of these. UserError names another one.
  explicit Decoder(const JsonView& json);

  /// Text is the tokens' bytes_behind(), one after the other, with U+FFFD for what is not UTF-8; text() is not needed.
  bool is_byte_level() const { return is_byte_level_; }

  /// The bytes that a token adds to a text that it does not begin.
  std::string bytes_behind(const std::string& spelling) const;

  /// Text of tokens, given as the file spells them. Single bytes that stand together and are not UTF-8 together become
  /// one U+FFFD each. goes_on: more tokens may follow, so single bytes at the end are one U+FFFD, whatever they say.
  std::string text(std::vector<std::string> tokens, bool goes_on) const;

 private:
  struct Call {
    bool is_start;  // of a text
    bool goes_on;
  };
  using Step = std::function<void(std::vector<std::string>& tokens, const Call& call)>;
  void add(const JsonView& json, int depth);
  void add_replace(const JsonView& json);
  void add_strip(const JsonView& json);
  void add_metaspace(const JsonView& json);

  std::vector<Step> steps_;
  bool is_byte_level_ = false, has_byte_tokens_ = false, is_fused_ = false, joins_by_spaces_ = true;
};

}  // namespace roll
