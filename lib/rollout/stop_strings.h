// Stop strings: a response ends where its text first holds one of them, wherever the token borders fall.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rollout/growing_text.h"

namespace roll {

/// The stop string whose end comes first in `text` (of two that end together, the longer).
struct StopMatch {
  size_t begin = 0, end = 0;
};
std::optional<StopMatch> find_stop(const std::string& text, const std::vector<std::string>& stops, size_t from = 0);

/// Where `text` may still be cut by a stop string that begins at `from` or later, be it whole or growing at the end;
/// the text's size: nowhere.
size_t may_stop_at(const std::string& text, const std::vector<std::string>& stops, size_t from);

/// Follows one response as it grows.
class StopWatcher {
 public:
  /// Is there a stop string in the text of `ids`, special tokens included? `ids` must be those of the last call and at
  /// least one more.
  bool found(std::span<const int64_t> ids, const std::vector<std::string>& stops, const DecodeText& decode);

 private:
  GrowingText text_;
};

}  // namespace roll
