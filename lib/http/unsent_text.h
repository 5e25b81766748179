// First-in-first-out buffer for the text of a stream that its client has not read yet, for HttpServer. It grows in
// large blocks, so that the system gets their memory back when the client has read them.
#pragma once

#include <algorithm>
#include <deque>
#include <string>
#include <string_view>

namespace roll {

class UnsentText {
 public:
  void append(std::string_view text) {
    while (!text.empty()) {
      if (blocks_.empty() || blocks_.back().size() == kBlockBytes) blocks_.emplace_back().reserve(kBlockBytes);
      const std::string_view part = text.substr(0, kBlockBytes - blocks_.back().size());
      blocks_.back() += part;
      text.remove_prefix(part.size());
    }
  }
  /// Moves the next bytes, at most `size`, to `to`; returns how many it moved.
  size_t take(char* to, size_t size) {
    size_t count = 0;
    while (count < size && !blocks_.empty() && num_taken_ < blocks_.front().size()) {
      const size_t copied = blocks_.front().copy(to + count, size - count, num_taken_);
      count += copied;
      num_taken_ += copied;
      if (num_taken_ < kBlockBytes) continue;
      blocks_.pop_front();
      num_taken_ = 0;
    }
    return count;
  }
  void clear() {
    blocks_.clear();
    num_taken_ = 0;
  }

 private:
  static constexpr size_t kBlockBytes = 256 << 10;
  std::deque<std::string> blocks_;
  size_t num_taken_ = 0;  // bytes taken from the first block
};

}  // namespace roll
