// Stop strings: a response ends where its text first holds one of them, wherever the token borders fall.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace roll {

/// Text of some response ids; skip_special leaves special tokens out.
using DecodeText = std::function<std::string(std::span<const int64_t> ids, bool skip_special)>;

/// The stop string whose end comes first in `text` (of two that end together, the longer).
struct StopMatch {
  size_t begin = 0, end = 0;
};
std::optional<StopMatch> find_stop(const std::string& text, const std::vector<std::string>& stops, size_t from = 0);

/// Follows one response as it grows. Each step decodes only its newest few tokens.
class StopWatcher {
 public:
  /// Is there a stop string in the text of `ids`, special tokens included? `ids` must be those of the last call and at
  /// least one more.
  bool found(std::span<const int64_t> ids, const std::vector<std::string>& stops, const DecodeText& decode);

 private:
  std::string text_;        // of ids [0, num_decoded_)
  size_t num_decoded_ = 0;  // tokens whose text is settled: the bytes after them start a new character
  size_t context_ = 0;      // first token that is decoded again, since a token's text can depend on the one before
};

}  // namespace roll
