// First-in-first-out byte buffer. HttpServer keeps in it the bytes of a streamed answer that the client has not read
// yet. It grows in blocks of 256 KiB, so that the system gets their memory back when the client has read them. Not
// thread-safe.
#pragma once

#include <algorithm>
#include <deque>
#include <string>
#include <string_view>

namespace roll {

class UnsentText {
 public:
  /// Adds a copy of `text` at the end.
  void append(std::string_view text) {
    while (!text.empty()) {
      if (blocks_.empty() || blocks_.back().size() == kBlockBytes) blocks_.emplace_back().reserve(kBlockBytes);
      const std::string_view part = text.substr(0, kBlockBytes - blocks_.back().size());
      blocks_.back() += part;
      text.remove_prefix(part.size());
    }
  }
  /// Removes the first `size` bytes, or all if there are fewer, and copies them to `to`. Returns their number.
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
