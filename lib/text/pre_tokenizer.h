// The `pre_tokenizer` of a tokenizer.json: cuts text into the words within which byte pairs are merged.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "text/json_view.h"
#include "text/pattern.h"

namespace roll {

/// A text and where it is cut. Reused from call to call, so that cutting allocates nothing once it is warm.
class TextPieces {
 public:
  /// The whole of `text` (valid UTF-8, kept by the caller) as one piece; none when it is empty.
  void reset(std::string_view text);

  std::string_view text() const { return text_; }
  const std::vector<Span>& spans() const { return spans_; }
  std::string_view piece(const Span& span) const { return text_.substr(span.begin, span.end - span.begin); }

  /// The piece as regular expressions see it (see with_older_characters): the same bytes, nearly always.
  std::string_view older_piece(const Span& span) const { return older_.substr(span.begin, span.end - span.begin); }

  /// Replaces the spans by what `cut(span, out)` appends for each; empty ones are dropped.
  template <class Cut>
  void cut_each(const Cut& cut);

  /// A space before each piece that does not start with one.
  void add_prefix_spaces();

 private:
  std::string_view text_, older_;
  std::vector<Span> spans_, next_;
  std::string text_storage_, older_storage_;
};

class PreTokenizer {
 public:
  /// Supported: Sequence, Split, Digits, Whitespace, WhitespaceSplit, and ByteLevel, which must come last: the words
  /// are then bytes. UserError names another one.
  explicit PreTokenizer(const JsonView& json);

  /// Cuts each piece further.
  void split(TextPieces& pieces, MatchMemory& memory) const;

 private:
  using Step = std::function<void(TextPieces& pieces, MatchMemory& memory)>;
  void add(const JsonView& json, int depth);
  void add_byte_level(const JsonView& json);
  std::vector<Step> steps_;
  bool byte_level_ = false;
};

}  // namespace roll
