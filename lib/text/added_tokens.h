// Finds added tokens (`added_tokens` of a tokenizer.json) in a text: strings that always become one token. Tokenizer
// splits a text at them before it is normalized, and after that at those with the option `normalized`.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/json_view.h"
#include "text/normalizer.h"

namespace roll {

/// An added token and its options, as in HF.
struct AddedToken {
  std::string content;  // text that becomes the token
  int32_t id = 0;
  bool special = false;                 // encoding can treat it as plain text, and decoding can omit it
  bool normalized = false;              // the token's normalized content is searched in the normalized text
  bool single_word = false;             // matches only if no word character (is_word()) is next to it
  bool lstrip = false, rstrip = false;  // the match includes the white space on its left, on its right
};

/// Reads an entry of `added_tokens` or `added_tokens_decoder`. The caller sets `id`. Throws UserError for a malformed
/// entry.
AddedToken read_added_token(const JsonView& json);

/// Returns the end of the white space that begins at byte `pos`; `pos` if there is none.
size_t space_end(std::string_view text, size_t pos);

/// A set of strings, each with a value >= 0 (a trie). Finds the leftmost match in a text, and the longest one there.
class StringSet {
 public:
  /// Adds a string; an empty or repeated one changes nothing.
  void add(std::string_view text, int32_t value);
  bool empty() const { return nodes_.size() == 1; }

  struct Match {
    size_t begin, end;  // bytes [begin, end)
    int32_t value;      // -1: no match
  };
  /// Returns the first match in `text` at or after byte `from`; a Match with value -1 if there is none.
  Match find(std::string_view text, size_t from) const;

 private:
  struct Node {
    int32_t value = -1;  // -1: no string ends here
    std::vector<std::pair<unsigned char, uint32_t>> children;
  };
  uint32_t child(uint32_t node, unsigned char byte) const;
  std::vector<Node> nodes_{1};
  std::array<bool, 256> starts_{};
};

/// Bytes [begin, end) of a text: an added token or plain text.
struct Segment {
  size_t begin, end;
  int32_t id;  // id of the added token; -1: plain text
};

/// Splits texts at added tokens. Thread-safe after construction.
class AddedTokens {
 public:
  AddedTokens() = default;
  /// `normalizer` is applied to the contents of tokens with `normalized`; it is used only during this call.
  AddedTokens(std::vector<AddedToken> tokens, const Normalizer& normalizer);

  const std::vector<AddedToken>& tokens() const { return tokens_; }
  /// Returns true if a token has `normalized`, so that normalized text must be split too.
  bool any_normalized() const { return !normalized_.empty(); }

  /// Returns the added token with this id; nullptr if there is none.
  const AddedToken* find(int64_t id) const;

  /// Appends the segments of `text`: added tokens and the plain text between them. If `normalized`, `text` is
  /// normalized and only tokens with that option are searched; else only the others. If not `parse_special`, special
  /// tokens are plain text.
  void split(std::string_view text, bool normalized, bool parse_special, std::vector<Segment>& segments) const;

 private:
  std::vector<AddedToken> tokens_;
  StringSet plain_, normalized_;  // values are indices into tokens_
};

}  // namespace roll
