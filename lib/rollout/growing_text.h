// Incremental detokenization of one response, for streaming and stop strings: the text only grows; what was returned
// once never changes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace roll {

/// Decodes token ids of a response to text; `skip_special` leaves special tokens out.
using DecodeText = std::function<std::string(std::span<const int64_t> ids, bool skip_special)>;

class GrowingText {
 public:
  /// Returns the text of `ids`, all tokens of the response so far, without an incomplete character at the end. `ids`
  /// must start with the ids of the last call; `skip_special` must not change. Decodes only the newest few tokens.
  const std::string& grow(std::span<const int64_t> ids, bool skip_special, const DecodeText& decode);
  /// Returns the result of the last grow(); empty before the first.
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  size_t num_complete_ = 0;     // tokens whose text ends with a complete character
  size_t decode_begin_ = 0;     // first token to decode again, since a token's text can depend on the previous token
  size_t num_taken_bytes_ = 0;  // bytes of the text from token decode_begin_ on that text_ already holds
};

}  // namespace roll
