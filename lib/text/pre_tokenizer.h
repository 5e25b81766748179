// The `pre_tokenizer` of a tokenizer.json: splits text into words; BPE merges do not cross words.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "text/alphabet.h"
#include "text/json_view.h"
#include "text/pattern.h"

namespace roll {

/// A text and its pieces. Reuse it between calls to avoid allocations.
class TextPieces {
 public:
  /// Starts with all of `text` (valid UTF-8, owned by the caller) as one piece; no piece if it is empty.
  void reset(std::string_view text);

  std::string_view text() const { return text_; }
  const std::vector<Span>& spans() const { return spans_; }
  std::string_view piece(const Span& span) const { return text_.substr(span.begin, span.end - span.begin); }

  /// Returns the piece as regular expressions see it (with_older_characters); usually the same bytes.
  std::string_view older_piece(const Span& span) const { return older_.substr(span.begin, span.end - span.begin); }

  /// Replaces each span by those that `cut(span, out)` appends; drops empty ones.
  template <class Cut>
  void cut_each(const Cut& cut);

  /// Replaces each piece's text by the output of `rewrite(piece, span, out)`. It must not depend on letters or signs
  /// added after Unicode 14, because regular expressions see other characters.
  template <class Rewrite>
  void rewrite_each(const Rewrite& rewrite);

 private:
  std::string_view text_, older_;
  std::vector<Span> spans_, next_;
  std::string text_storage_, older_storage_;
};

/// Position of a text in a larger one; decides about prefix spaces.
struct TextPlace {
  bool is_first = true;         // at the start of the whole text, special tokens included
  bool continues_text = false;  // follows ordinary text that was encoded before
};

class PreTokenizer {
 public:
  /// Treats the whole text as one word.
  PreTokenizer() = default;

  /// Supports Sequence, Split, Digits, Whitespace, WhitespaceSplit, Metaspace, and ByteLevel (last step only).
  /// UserError: the file has another one.
  explicit PreTokenizer(const JsonView& json);

  /// Returns kBytes if there is a ByteLevel step.
  SymbolKind symbols() const { return byte_level_ ? SymbolKind::kBytes : SymbolKind::kCharacters; }

  /// Splits each piece further.
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
