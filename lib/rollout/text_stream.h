// Streams the text of responses while they are drawn. The pieces add up to the final text: an incomplete character and
// text that may become a stop string are held back.
#pragma once

#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rollout/growing_text.h"
#include "rollout/settings.h"

namespace roll {

class TextStream {
 public:
  /// `args` and `decode` must outlive the stream.
  TextStream(const SamplingSettings& args, const DecodeText& decode) : args_(&args), decode_(&decode) {}

  /// Returns the new text that can be shown. `ids` must start with the ids of the last call.
  std::string next_text(std::span<const int64_t> ids);
  /// Returns the text still to show after the response ended with `text`.
  std::string remaining_text(const std::string& text);

 private:
  const SamplingSettings* args_;
  const DecodeText* decode_;
  GrowingText text_;
  size_t num_shown_ = 0;  // bytes
};

/// Prints several responses in order, separated by blank lines; the first unfinished one is shown as it grows.
class OrderedTexts {
 public:
  /// `out`, `args` and `decode` must outlive the object. count: number of responses.
  OrderedTexts(std::ostream& out, const SamplingSettings& args, const DecodeText& decode, size_t count);

  /// Shows new text if all earlier responses have ended. ids: all ids of the response so far.
  void grow(int64_t index, std::span<const int64_t> ids);
  /// Marks a response as ended with its final text, and shows what can now be shown.
  void end(int64_t index, const std::string& text);

 private:
  void show(const std::string& text);

  std::ostream& out_;
  const SamplingSettings& args_;
  const DecodeText& decode_;
  TextStream current_;
  std::vector<std::optional<std::string>> ended_;
  size_t next_ = 0;
};

}  // namespace roll
