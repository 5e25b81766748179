#include "rollout/stop_strings.h"

#include <algorithm>

namespace roll {

std::optional<StopMatch> find_stop(const std::string& text, const std::vector<std::string>& stops, size_t from) {
  std::optional<StopMatch> earliest;
  for (const std::string& stop : stops) {
    const size_t begin = text.find(stop, from);
    if (begin == std::string::npos) continue;
    const size_t end = begin + stop.size();
    if (!earliest || end < earliest->end || (end == earliest->end && begin < earliest->begin)) earliest = {begin, end};
  }
  return earliest;
}

size_t may_stop_at(const std::string& text, const std::vector<std::string>& stops, size_t from) {
  for (size_t begin = from; begin < text.size(); ++begin)
    for (const std::string& stop : stops) {
      const size_t length = std::min(stop.size(), text.size() - begin);
      if (text.compare(begin, length, stop, 0, length) == 0) return begin;
    }
  return text.size();
}

bool StopWatcher::has_stop(std::span<const int64_t> ids, const std::vector<std::string>& stops,
                           const DecodeText& decode) {
  size_t longest = 0;
  for (const std::string& stop : stops) longest = std::max(longest, stop.size());
  const size_t known_length = text_.text().size(), from = known_length - std::min(known_length, longest);
  return find_stop(text_.grow(ids, false, decode), stops, from).has_value();
}

}  // namespace roll
