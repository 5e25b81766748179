#include "rollout/growing_text.h"

#include <algorithm>
#include <string_view>

namespace roll {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD: an incomplete character decodes to it

}  // namespace

const std::string& GrowingText::grow(std::span<const int64_t> ids, bool skip_special, const DecodeText& decode) {
  const std::string decoded = decode(ids.subspan(decode_begin_), skip_special);
  size_t end = decoded.size();
  while (std::string_view(decoded).substr(0, end).ends_with(kReplacement)) end -= kReplacement.size();
  if (end > num_taken_bytes_) text_.append(decoded, num_taken_bytes_, end - num_taken_bytes_);
  num_taken_bytes_ = std::max(num_taken_bytes_, end);
  if (end < decoded.size()) return text_;
  // Decoding begins at a token with text, because decoders strip a space from the first token only.
  const std::string later = decode(ids.subspan(num_complete_), skip_special);
  if (!later.empty()) {
    decode_begin_ = num_complete_;
    num_taken_bytes_ = later.size();
  }
  num_complete_ = ids.size();
  return text_;
}

}  // namespace roll
