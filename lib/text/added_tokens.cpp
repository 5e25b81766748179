// A trie finds the leftmost-longest token; the token's options then extend or reject the match.
#include "text/added_tokens.h"

#include <algorithm>

#include "base/error.h"
#include "unicode/unicode.h"

namespace roll {

namespace {

constexpr size_t kMaxContent = 1000;  // bounds the search cost per text position

bool word_before(std::string_view text, size_t pos) {
  return pos > 0 && is_word(previous_code_point(text, pos));
}

bool word_after(std::string_view text, size_t pos) {
  return pos < text.size() && is_word(next_code_point(text, pos));
}

/// Returns the start of the white space that ends at `pos`, at least `least`.
size_t space_start(std::string_view text, size_t pos, size_t least) {
  for (size_t before = pos; before > least && is_white_space(previous_code_point(text, before));) pos = before;
  return pos;
}

}  // namespace

size_t space_end(std::string_view text, size_t pos) {
  for (size_t after = pos; after < text.size() && is_white_space(next_code_point(text, after));) pos = after;
  return pos;
}

AddedToken read_added_token(const JsonView& json) {
  AddedToken token;
  token.content = json.at("content").string();
  if (token.content.empty()) json.fail("an added token needs content");
  if (token.content.size() > kMaxContent) json.fail(fmt::format("a token has at most {} bytes", kMaxContent));
  token.special = json.boolean_or("special", false);
  token.normalized = json.boolean_or("normalized", !token.special);
  token.single_word = json.boolean_or("single_word", false);
  token.lstrip = json.boolean_or("lstrip", false);
  token.rstrip = json.boolean_or("rstrip", false);
  return token;
}

uint32_t StringSet::child(uint32_t node, unsigned char byte) const {
  for (const auto& [label, index] : nodes_[node].children)
    if (label == byte) return index;
  return 0;
}

void StringSet::add(std::string_view text, int32_t value) {
  if (text.empty()) return;
  uint32_t node = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    uint32_t next = child(node, byte);
    if (next == 0) {
      next = static_cast<uint32_t>(nodes_.size());
      nodes_[node].children.emplace_back(byte, next);
      nodes_.emplace_back();
    }
    node = next;
  }
  starts_[static_cast<unsigned char>(text[0])] = true;
  if (nodes_[node].value < 0) nodes_[node].value = value;
}

StringSet::Match StringSet::find(std::string_view text, size_t from) const {
  for (size_t begin = from; begin < text.size(); ++begin) {
    if (!starts_[static_cast<unsigned char>(text[begin])]) continue;
    Match longest{begin, begin, -1};
    uint32_t node = 0;
    for (size_t i = begin; i < text.size() && (node = child(node, static_cast<unsigned char>(text[i]))) != 0; ++i)
      if (nodes_[node].value >= 0) longest = {begin, i + 1, nodes_[node].value};
    if (longest.value >= 0) return longest;
  }
  return {text.size(), text.size(), -1};
}

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, const Normalizer& normalizer) : tokens_(std::move(tokens)) {
  MatchMemory memory;
  for (const bool special : {true, false})  // special tokens win if two have the same normalized form
    for (size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].special != special) continue;
      std::string content = tokens_[i].content;
      if (tokens_[i].normalized) normalizer.apply(content, memory);
      (tokens_[i].normalized ? normalized_ : plain_).add(content, static_cast<int32_t>(i));
    }
}

const AddedToken* AddedTokens::find(int64_t id) const {
  const auto found = std::ranges::find(tokens_, id, &AddedToken::id);
  return found == tokens_.end() ? nullptr : &*found;
}

void AddedTokens::split(std::string_view text, bool normalized, bool parse_special,
                        std::vector<Segment>& segments) const {
  const StringSet& set = normalized ? normalized_ : plain_;
  size_t done = 0;
  for (StringSet::Match match = set.find(text, 0); match.value >= 0; match = set.find(text, match.end)) {
    const AddedToken& token = tokens_[match.value];
    if (token.special && !parse_special) continue;
    if (token.single_word && (word_before(text, match.begin) || word_after(text, match.end))) continue;
    const size_t begin = token.lstrip ? std::max(space_start(text, match.begin, done), done) : match.begin;
    const size_t end = token.rstrip ? space_end(text, std::max(match.end, done)) : match.end;  // blank up to `done`
    if (begin > done) segments.push_back({done, begin, -1});
    segments.push_back({begin, end, token.id});
    done = end;
  }
  if (done < text.size()) segments.push_back({done, text.size(), -1});
}

}  // namespace roll
