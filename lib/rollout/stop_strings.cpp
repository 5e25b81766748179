// A token's text can depend on the one before it and end within a character, so the newest tokens are decoded twice.
#include "rollout/stop_strings.h"

#include <algorithm>

namespace roll {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD: what an unfinished character decodes to

}  // namespace

std::optional<StopMatch> find_stop(const std::string& text, const std::vector<std::string>& stops, size_t from) {
  std::optional<StopMatch> first;
  for (const std::string& stop : stops) {
    const size_t begin = text.find(stop, from);
    if (begin == std::string::npos) continue;
    const size_t end = begin + stop.size();
    if (!first || end < first->end || (end == first->end && begin < first->begin)) first = {begin, end};
  }
  return first;
}

bool StopWatcher::found(std::span<const int64_t> ids, const std::vector<std::string>& stops, const DecodeText& decode) {
  const std::string known = decode(ids.subspan(context_, num_decoded_ - context_), false);
  const std::string longer = decode(ids.subspan(context_), false);
  const std::string fresh = longer.substr(std::min(known.size(), longer.size()));
  size_t longest = 0;
  for (const std::string& stop : stops) longest = std::max(longest, stop.size());
  const size_t from = text_.size() - std::min(text_.size(), longest);
  const std::string text = text_ + fresh;
  if (!fresh.ends_with(kReplacement)) {
    text_ = text;
    context_ = num_decoded_;
    num_decoded_ = ids.size();
  }
  return find_stop(text, stops, from).has_value();
}

}  // namespace roll
