// Splits text into words, as the `pre_tokenizer` of a tokenizer.json says; used by Tokenizer. BPE merges stay within a
// word.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "text/alphabet.h"
#include "text/json_view.h"
#include "text/pattern.h"

namespace roll {

/// A text and its pieces, the words so far; pre-tokenizers rewrite the text and cut the pieces. Use it again for the
/// next text to avoid allocations.
class TextPieces {
 public:
  /// Starts with all of `text` as one piece; no piece if it is empty. `text` is valid UTF-8 and must stay alive until
  /// the next reset().
  void reset(std::string_view text);

  /// The text, as rewritten so far.
  std::string_view text() const { return text_; }
  /// Byte ranges of the pieces in text(), ascending.
  const std::vector<Span>& spans() const { return spans_; }
  std::string_view piece(const Span& span) const { return text_.substr(span.begin, span.end - span.begin); }

  /// Returns the piece with characters newer than Unicode 14 replaced by older ones (unicode/unicode.h), as regular
  /// expressions need it; usually the same bytes.
  std::string_view older_piece(const Span& span) const { return older_.substr(span.begin, span.end - span.begin); }

  // cut_each() and rewrite_each() are defined in pre_tokenizer.cpp, for use there only.

  /// Replaces each span by the spans that `cut(span, out)` appends to `out`, a vector of Span; drops empty ones.
  template <class Cut>
  void cut_each(const Cut& cut);

  /// Replaces each piece's text by the text that `rewrite(piece, span, out)` appends to `out`, a string. It is called
  /// for piece() and for older_piece() and must change both alike, so it must not depend on characters newer than
  /// Unicode 14.
  template <class Rewrite>
  void rewrite_each(const Rewrite& rewrite);

 private:
  std::string_view text_, older_;
  std::vector<Span> spans_, next_;
  std::string text_storage_, older_storage_;
};

/// Position of a text in a larger one, which decides whether a prefix space is added.
struct TextPlace {
  bool is_first = true;         // nothing comes before it, not even an added token
  bool continues_text = false;  // ordinary text comes directly before it and was encoded by an earlier call
};

/// Immutable and thread-safe; each thread needs its own TextPieces and MatchMemory.
class PreTokenizer {
 public:
  /// Treats the whole text as one word.
  PreTokenizer() = default;

  /// Supports Sequence, Split, Digits, Whitespace, WhitespaceSplit, Metaspace, and ByteLevel (last step only). Throws
  /// UserError for others.
  explicit PreTokenizer(const JsonView& json);

  /// Returns the initial symbols of the BPE: kBytes if there is a ByteLevel step.
  SymbolKind symbols() const { return byte_level_ ? SymbolKind::kBytes : SymbolKind::kCharacters; }

  /// Splits the pieces further, into words. Call it after pieces.reset(). `place`: position of the text of `pieces` in
  /// a larger text; `memory`: scratch space of the thread. Throws UserError if a regular expression exceeds PCRE2's
  /// limits.
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
