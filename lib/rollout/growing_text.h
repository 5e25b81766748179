// The text of a response while its tokens come, one character after the other: what is there stays as it is.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace roll {

/// Text of some response ids; skip_special leaves special tokens out.
using DecodeText = std::function<std::string(std::span<const int64_t> ids, bool skip_special)>;

class GrowingText {
 public:
  /// The text of `ids`, which begin with those of the last call, without characters at its end that are not whole yet.
  /// Each call decodes only the newest few tokens.
  const std::string& grow(std::span<const int64_t> ids, bool skip_special, const DecodeText& decode);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  size_t num_whole_ = 0;  // tokens that end with a whole character
  size_t context_ = 0;    // first token that is decoded again, since a token's text can depend on the one before
  size_t taken_ = 0;      // bytes of the text from there on that text_ has
};

}  // namespace roll
