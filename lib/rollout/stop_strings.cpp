#include "rollout/stop_strings.h"

#include <algorithm>

namespace roll {

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

size_t may_stop_at(const std::string& text, const std::vector<std::string>& stops, size_t from) {
  for (size_t begin = from; begin < text.size(); ++begin)
    for (const std::string& stop : stops) {
      const size_t length = std::min(stop.size(), text.size() - begin);
      if (text.compare(begin, length, stop, 0, length) == 0) return begin;
    }
  return text.size();
}

bool StopWatcher::found(std::span<const int64_t> ids, const std::vector<std::string>& stops, const DecodeText& decode) {
  size_t longest = 0;
  for (const std::string& stop : stops) longest = std::max(longest, stop.size());
  const size_t known = text_.text().size(), from = known - std::min(known, longest);
  return find_stop(text_.grow(ids, false, decode), stops, from).has_value();
}

}  // namespace roll
