// The `added_tokens` of a tokenizer.json: strings that always become one token. They are split off before
// normalization, or after it if `normalized` is set.
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
  std::string content;
  int32_t id = 0;
  bool special = false;                 // can be treated as plain text, and omitted when decoding
  bool normalized = false;              // the normalized text is searched for its normalized form
  bool single_word = false;             // only without adjacent word characters
  bool lstrip = false, rstrip = false;  // absorbs white space on that side
};

/// Reads an entry of `added_tokens` or `added_tokens_decoder`. The latter holds the id in its key, which the caller
/// sets.
AddedToken read_added_token(const JsonView& json);

/// Returns the end of the white space that begins at `pos`.
size_t space_end(std::string_view text, size_t pos);

/// A trie of strings; finds the leftmost match, and the longest one there.
class StringSet {
 public:
  void add(std::string_view text, int32_t value);
  bool empty() const { return nodes_.size() == 1; }

  struct Match {
    size_t begin, end;
    int32_t value;  // -1: no match
  };
  Match find(std::string_view text, size_t from) const;

 private:
  struct Node {
    int32_t value = -1;
    std::vector<std::pair<unsigned char, uint32_t>> children;
  };
  uint32_t child(uint32_t node, unsigned char byte) const;
  std::vector<Node> nodes_{1};
  std::array<bool, 256> starts_{};
};

/// A part of a text: an added token, or plain text (id -1).
struct Segment {
  size_t begin, end;
  int32_t id;
};

/// Splits texts at added tokens.
class AddedTokens {
 public:
  AddedTokens() = default;
  AddedTokens(std::vector<AddedToken> tokens, const Normalizer& normalizer);

  const std::vector<AddedToken>& tokens() const { return tokens_; }
  bool any_normalized() const { return !normalized_.empty(); }

  /// Returns the added token with this id; nullptr if there is none.
  const AddedToken* find(int64_t id) const;

  /// Splits a text into added tokens and plain text. `normalized` selects the tokens to search for. parse_special
  /// false: special tokens are plain text.
  void split(std::string_view text, bool normalized, bool parse_special, std::vector<Segment>& segments) const;

 private:
  std::vector<AddedToken> tokens_;
  StringSet plain_, normalized_;  // values are indices into tokens_
};

}  // namespace roll
