#include "rollout/growing_text.h"

#include <algorithm>
#include <string_view>

namespace roll {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD: an incomplete character decodes to it

}  // namespace

const std::string& GrowingText::grow(std::span<const int64_t> ids, bool skip_special, const DecodeText& decode) {
  const std::string newest = decode(ids.subspan(context_), skip_special);
  size_t end = newest.size();
  while (std::string_view(newest).substr(0, end).ends_with(kReplacement)) end -= kReplacement.size();
  if (end > taken_) text_.append(newest, taken_, end - taken_);
  taken_ = std::max(taken_, end);
  if (end < newest.size()) return text_;
  // The context starts at a token with text, because decoders strip a space from the first token only.
  const std::string later = decode(ids.subspan(num_whole_), skip_special);
  if (!later.empty()) {
    context_ = num_whole_;
    taken_ = later.size();
  }
  num_whole_ = ids.size();
  return text_;
}

}  // namespace roll
