#include "rollout/text_stream.h"

#include <algorithm>
#include <ostream>

#include "rollout/stop_strings.h"

namespace roll {

std::string TextStream::next_text(std::span<const int64_t> ids) {
  const std::string& text = text_.grow(ids, args_->skip_special_tokens, *decode_);
  const size_t end = may_stop_at(text, args_->stop_strings, num_shown_), begin = num_shown_;
  num_shown_ = end;
  return text.substr(begin, end - begin);
}

std::string TextStream::remaining_text(const std::string& text) {
  return text.substr(std::min(num_shown_, text.size()));
}

OrderedTexts::OrderedTexts(std::ostream& out, const SamplingSettings& args, const DecodeText& decode, size_t count)
    : out_(out), args_(args), decode_(decode), current_(args, decode), ended_(count) {}

void OrderedTexts::grow(int64_t index, std::span<const int64_t> ids) {
  if (static_cast<size_t>(index) == next_) show(current_.next_text(ids));
}

void OrderedTexts::end(int64_t index, const std::string& text) {
  ended_[index] = text;
  for (; next_ < ended_.size() && ended_[next_]; ++next_) {
    const std::string blank = next_ + 1 < ended_.size() ? "\n" : "";
    show(current_.remaining_text(*ended_[next_]) + "\n" + blank);
    current_ = TextStream(args_, decode_);
  }
}

void OrderedTexts::show(const std::string& text) {
  if (!text.empty()) out_ << text << std::flush;
}

}  // namespace roll
