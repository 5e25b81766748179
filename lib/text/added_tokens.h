// The `added_tokens` of a tokenizer.json: strings that are one token wherever they stand in a text, found before
// anything else happens to it (`normalized` ones: after normalization).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/json_view.h"
#include "text/normalizer.h"

namespace roll {

struct AddedToken {
  std::string content;
  int32_t id = 0;
  bool special = false;                 // can be read as plain text, and left out of decoded text
  bool normalized = false;              // looked for in the normalized text, by its own normalized form
  bool single_word = false;             // only where no word character is next to it
  bool lstrip = false, rstrip = false;  // takes the white space on that side with it
};

/// One entry of `added_tokens` or `added_tokens_decoder`; the latter holds the id outside.
AddedToken read_added_token(const JsonView& json);

/// Where the white space that begins at `pos` ends.
size_t space_end(std::string_view text, size_t pos);

/// Finds the leftmost, of those the longest, of many strings.
class StringSet {
 public:
  void add(std::string_view text, int32_t value);
  bool empty() const { return nodes_.size() == 1; }

  struct Match {
    size_t begin, end;
    int32_t value;  // -1: there is none
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

/// A part of a text: an added token, or (id -1) text between.
struct Segment {
  size_t begin, end;
  int32_t id;
};

class AddedTokens {
 public:
  AddedTokens() = default;
  AddedTokens(std::vector<AddedToken> tokens, const Normalizer& normalizer);

  const std::vector<AddedToken>& tokens() const { return tokens_; }
  bool any_normalized() const { return !normalized_.empty(); }

  /// The token with that id; null: it is none of them.
  const AddedToken* find(int64_t id) const;

  /// Cuts a text into added tokens and what is between; `normalized` says which tokens to look for.
  /// parse_special false: special tokens are plain text.
  void split(std::string_view text, bool normalized, bool parse_special, std::vector<Segment>& segments) const;

 private:
  std::vector<AddedToken> tokens_;
  StringSet plain_, normalized_;  // values are indices into tokens_
};

}  // namespace roll
