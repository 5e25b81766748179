#include "checkpoint/gguf/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "base/error.h"
#include "base/utf8.h"

namespace roll::gguf {

namespace {

constexpr const char* kTokens = "tokenizer.ggml.tokens";
constexpr size_t kLongestMerged = 256;  // bytes of a token that merges make

TokenKind kind_of(const File& file, double code) {
  if (code == 0) return TokenKind::kNormal;  // undefined
  if (code >= 1 && code <= 6) return static_cast<TokenKind>(static_cast<int>(code));
  file.fail("tokenizer.ggml.token_type", fmt::format("holds {}; 0 to 6 are known", code));
}

/// Returns a list of a number per token; nullopt: the file has none.
std::optional<std::vector<double>> numbers_of_tokens(const File& file, const char* key, size_t count) {
  auto numbers = file.numbers(key);
  if (numbers && numbers->size() != count)
    file.fail(key, fmt::format("a list of {} numbers, one for each token, is needed", count));
  if (numbers && !std::ranges::all_of(*numbers, [](double number) { return std::isfinite(number); }))
    file.fail(key, "finite numbers are needed");
  return numbers;
}

/// Returns a token's score. That of tokens that users define is the best, whatever their model said: the file has -1000
/// in its place.
double rank_of(const StoredToken& token) {
  return token.kind == TokenKind::kUserDefined ? kBestScore : token.score;
}

/// Tests whether scores fall from token to token, as in models trained on byte pairs, such as Llama's and Gemma's.
bool falls_by_id(const std::vector<StoredToken>& tokens) {
  double last = kBestScore;
  for (const StoredToken& token : tokens) {
    if (token.kind != TokenKind::kNormal || token.score == kBestScore) continue;
    if (token.score > last) return false;
    last = token.score;
  }
  return true;
}

bool may_be_merged(const StoredToken& token) {
  return token.kind == TokenKind::kNormal || token.kind == TokenKind::kUserDefined;
}

}  // namespace

std::vector<StoredToken> read_tokens(const File& file) {
  const std::vector<std::string_view>* texts = file.texts(kTokens);
  if (!texts) return {};
  const auto kinds = numbers_of_tokens(file, "tokenizer.ggml.token_type", texts->size());
  const auto scores = numbers_of_tokens(file, "tokenizer.ggml.scores", texts->size());
  std::vector<StoredToken> tokens(texts->size());
  std::unordered_map<std::string_view, size_t> ids;
  for (size_t i = 0; i < tokens.size(); ++i) {
    tokens[i].text = (*texts)[i];
    if (kinds) tokens[i].kind = kind_of(file, (*kinds)[i]);
    if (scores) tokens[i].score = (*scores)[i];
    if (tokens[i].text.empty()) tokens[i].text = fmt::format("[EMPTY_{}]", i);
    if (const auto [first, is_new] = ids.emplace(tokens[i].text, i); !is_new)
      throw user_error("{}: {}: '{}' is there twice, as {} and {}; the file is damaged, fetch it again", file.name(),
                       kTokens, tokens[i].text, first->second, i);
  }
  while (!tokens.empty() && tokens.back().kind == TokenKind::kUnused) tokens.pop_back();
  return tokens;
}

std::optional<int64_t> token_id(const File& file, const std::string& key, size_t num_tokens) {
  const auto id = file.count(key);
  if (id && *id >= static_cast<int64_t>(num_tokens))
    file.fail(key, fmt::format("must be below {}, the number of tokens", num_tokens));
  return id;
}

std::vector<std::pair<std::string, std::string>> merges_by_score(const std::vector<StoredToken>& tokens) {
  struct Merge {
    double score;
    size_t whole, left, right;
  };
  std::unordered_map<std::string_view, size_t> ids;
  for (size_t i = 0; i < tokens.size(); ++i)
    if (may_be_merged(tokens[i])) ids.emplace(tokens[i].text, i);
  const bool is_by_id = falls_by_id(tokens);
  std::vector<Merge> merges;
  for (size_t whole = 0; whole < tokens.size(); ++whole) {
    const std::string_view text = tokens[whole].text;
    if (!may_be_merged(tokens[whole]) || text.size() > kLongestMerged) continue;
    const double score = is_by_id ? 0 : rank_of(tokens[whole]);
    for (size_t at = next_character(text, 1); at < text.size(); at = next_character(text, at + 1)) {
      const auto left = ids.find(text.substr(0, at)), right = ids.find(text.substr(at));
      if (left != ids.end() && right != ids.end()) merges.push_back({score, whole, left->second, right->second});
    }
  }
  std::ranges::sort(merges, [](const Merge& a, const Merge& b) {
    return std::tuple(-a.score, a.whole, a.left, a.right) < std::tuple(-b.score, b.whole, b.left, b.right);
  });
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const Merge& merge : merges) pairs.emplace_back(tokens[merge.left].text, tokens[merge.right].text);
  return pairs;
}

}  // namespace roll::gguf
