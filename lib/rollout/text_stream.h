// Streams the text of responses while they are sampled. The streamed parts add up to the final text, because an
// incomplete character and text that may become a stop string are held back. Used by the server and `roll generate`.
#pragma once

#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rollout/growing_text.h"
#include "rollout/settings.h"

namespace roll {

/// Text of one response.
class TextStream {
 public:
  /// `args`: settings of the response. `args` and `decode` must outlive the stream.
  TextStream(const SamplingSettings& args, const DecodeText& decode) : args_(&args), decode_(&decode) {}

  /// Returns the text that can be shown now and was not returned before; may be empty. `ids`: all tokens of the
  /// response so far; must start with the ids of the last call.
  std::string next_text(std::span<const int64_t> ids);
  /// Returns the part of the final text that next_text() has not returned. `text`: the whole final text
  /// (Generation::text). Call it once, at the end.
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
  /// `args`: settings of all responses. `count`: number of responses. `out`, `args` and `decode` must outlive the
  /// object.
  OrderedTexts(std::ostream& out, const SamplingSettings& args, const DecodeText& decode, size_t count);

  /// Shows new text of response `index` (from 0) if all earlier ones have ended. `ids`: all of its tokens so far.
  void grow(int64_t index, std::span<const int64_t> ids);
  /// Marks response `index` as ended, with its final `text`, and prints all text whose turn has come.
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
