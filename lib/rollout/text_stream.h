// Responses shown while they are drawn. All that is shown of a response is, in the end, its text: a character that is
// not whole yet and what a stop string may still take away are held back until that is known.
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
  /// Both must outlive it.
  TextStream(const SamplingSettings& args, const DecodeText& decode) : args_(&args), decode_(&decode) {}

  /// What can be shown now, beyond what was before. `ids` begin with those of the last call.
  std::string more(std::span<const int64_t> ids);
  /// What is left to show of the response's text, once it has ended.
  std::string rest(const std::string& text);

 private:
  const SamplingSettings* args_;
  const DecodeText* decode_;
  GrowingText text_;
  size_t num_shown_ = 0;  // bytes
};

/// Several responses in order: the first that has not ended is shown as it grows, with a blank line before each but the
/// first.
class OrderedTexts {
 public:
  /// The first three must outlive it.
  OrderedTexts(std::ostream& out, const SamplingSettings& args, const DecodeText& decode, size_t count);

  void grow(int64_t index, std::span<const int64_t> ids);
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
