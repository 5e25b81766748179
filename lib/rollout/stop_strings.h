// Finds stop strings in responses, across token boundaries; used by the scheduler and text_stream.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rollout/growing_text.h"

namespace roll {

/// Byte range of the stop string that ends first in `text`; if two end together, the longer one.
struct StopMatch {
  size_t begin = 0, end = 0;
};
std::optional<StopMatch> find_stop(const std::string& text, const std::vector<std::string>& stops, size_t from = 0);

/// Returns the first byte from `from` on at which a complete stop string begins, or a partial one at the end of `text`;
/// text.size() if there is none.
size_t may_stop_at(const std::string& text, const std::vector<std::string>& stops, size_t from);

/// Searches one response for stop strings as it grows.
class StopWatcher {
 public:
  /// Returns true if the text of `ids`, special tokens included, holds a stop string. `ids`: those of the last call,
  /// and at least one more.
  bool has_stop(std::span<const int64_t> ids, const std::vector<std::string>& stops, const DecodeText& decode);

 private:
  GrowingText text_;
};

}  // namespace roll
