// The `pre_tokenizer` of a tokenizer.json: cuts text into the words within which byte pairs are merged.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "text/alphabet.h"
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

  /// Replaces the text of each piece by what `rewrite(piece, span, out)` appends. It may depend on no letters or signs
  /// younger than Unicode 14, which regular expressions see as others.
  template <class Rewrite>
  void rewrite_each(const Rewrite& rewrite);

 private:
  std::string_view text_, older_;
  std::vector<Span> spans_, next_;
  std::string text_storage_, older_storage_;
};

/// Where a text stands in a larger one, on which it depends whether a space is put before it.
struct TextPlace {
  bool is_first = true;  // in all of the text, special tokens included
  bool goes_on = false;  // behind ordinary text that was encoded before
};

class PreTokenizer {
 public:
  /// The whole text is one word.
  PreTokenizer() = default;

  /// Supported: Sequence, Split, Digits, Whitespace, WhitespaceSplit, Metaspace, and ByteLevel, which must come last.
  /// UserError names another one.
  explicit PreTokenizer(const JsonView& json);

  /// Bytes: with ByteLevel.
  SymbolKind symbols() const { return byte_level_ ? SymbolKind::kBytes : SymbolKind::kCharacters; }

  /// Cuts each piece further.
  void split(TextPieces& pieces, const TextPlace& place, MatchMemory& memory) const;

 private:
  struct Call {
    TextPlace place;
    MatchMemory& memory;
  };
  using Step = std::function<void(TextPieces& pieces, const Call& call)>;
  void add(const JsonView& json, int depth);
  void add_byte_level(const JsonView& json);
  void add_metaspace(const JsonView& json);
  std::vector<Step> steps_;
  bool byte_level_ = false;
};

}  // namespace roll
