// Converts tokens to text, as the `decoder` of a tokenizer.json says; used by Tokenizer. The spelling of a token is its
// string in the file ("Ġthe", "▁the", "<0xE4>").
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "text/json_view.h"

namespace roll {

/// Immutable and thread-safe.
class TokenDecoder {
 public:
  /// Makes the decoder of a file without one: joins the spellings of the tokens with spaces.
  TokenDecoder() = default;

  /// Supports ByteLevel (alone or before Fuse), Replace, ByteFallback, Fuse, Strip (left only), Metaspace, and
  /// Sequences of these. Throws UserError for other decoders.
  explicit TokenDecoder(const JsonView& json);

  /// Returns true if the text is just the concatenated bytes_behind() of the tokens, with U+FFFD for invalid UTF-8. The
  /// caller then joins these bytes, and must not call text().
  bool is_byte_level() const { return is_byte_level_; }

  /// Returns the bytes that a token adds to a text if other tokens come before it: " the" for "▁the".
  std::string bytes_behind(const std::string& spelling) const;

  /// Returns the text of `tokens`, the spellings of a whole text from its beginning. Adjacent byte tokens ("<0xE4>")
  /// that are invalid UTF-8 become one U+FFFD each. If `more_follows`, the text is not complete, so byte tokens at the
  /// end become a single U+FFFD. Only if not is_byte_level().
  std::string text(std::vector<std::string> tokens, bool more_follows) const;

 private:
  struct Call {
    bool is_start;  // true: the tokens start the text
    bool more_follows;
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
