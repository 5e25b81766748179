// Finds stop strings in responses, across token boundaries; used by the scheduler and text_stream.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rollout/growing_text.h"

namespace roll {

/// A stop string in a text: bytes [begin, end).
struct StopMatch {
  size_t begin = 0, end = 0;
};
/// Returns the occurrence of a stop string that ends first in `text`, searching from byte `from` on; if two end
/// together, the longer one. nullopt: no stop string occurs. `stops`: none is empty.
std::optional<StopMatch> find_stop(const std::string& text, const std::vector<std::string>& stops, size_t from = 0);

/// Returns the first byte index >= `from` at which a stop string begins, complete or cut off by the end of `text`;
/// text.size() if there is none. Bytes before it can be shown while the text grows.
size_t may_stop_at(const std::string& text, const std::vector<std::string>& stops, size_t from);

/// Searches one response for stop strings as it grows.
class StopWatcher {
 public:
  /// Returns true if the text of `ids`, special tokens included, holds a stop string. `ids`: all tokens of the response
  /// so far; must start with the ids of the last call, which returned false with the same `stops`.
  bool has_stop(std::span<const int64_t> ids, const std::vector<std::string>& stops, const DecodeText& decode);

 private:
  GrowingText text_;
};

}  // namespace roll
