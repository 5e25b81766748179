#include "rollout/growing_text.h"

#include <algorithm>
#include <string_view>

namespace roll {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD: what an unfinished character decodes to

}  // namespace

const std::string& GrowingText::grow(std::span<const int64_t> ids, bool skip_special, const DecodeText& decode) {
  const std::string newest = decode(ids.subspan(context_), skip_special);
  const bool is_whole = !newest.ends_with(kReplacement);
  const size_t end = newest.size() - (is_whole ? 0 : kReplacement.size());
  if (end > taken_) text_.append(newest, taken_, end - taken_);
  taken_ = std::max(taken_, end);
  if (!is_whole) return text_;
  context_ = num_whole_;
  num_whole_ = ids.size();
  taken_ = decode(ids.subspan(context_), skip_special).size();
  return text_;
}

}  // namespace roll
