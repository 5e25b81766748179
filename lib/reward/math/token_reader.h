// Where the parser stands in its tokens, and how much it has built.
#pragma once

#include <vector>

#include "reward/math/lexer.h"
#include "reward/math/limits.h"
#include "reward/math/node.h"

namespace roll::math {

class TokenReader {
 public:
  explicit TokenReader(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  size_t position() const { return at_; }
  bool sign(std::string_view s) const { return peek().sign(s); }
  bool command(std::string_view s) const { return peek().command(s); }
  bool end() const { return peek().kind == Token::Kind::kEnd; }

  Token next() {
    if (++taken_ > 8 * kMaxNodes) throw Unreadable("too long");
    Token token = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool take_sign(std::string_view s) { return sign(s) && (next(), true); }
  bool take_command(std::string_view s) { return command(s) && (next(), true); }
  void expect(std::string_view s) {
    if (!take_sign(s)) throw Unreadable("missing " + std::string(s));
  }

  /// The first character of a number token (\frac 34), leaving the rest; other tokens whole.
  Token next_digit() {
    Token& token = tokens_[at_];
    if (token.kind != Token::Kind::kNumber || token.text.size() == 1) return next();
    Token first = token;
    first.text.resize(1);
    token.text.erase(0, 1);
    return first;
  }

 private:
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int taken_ = 0;
};

/// Counts nested calls; throws Unreadable when too deep.
class DepthGuard {
 public:
  explicit DepthGuard(int& depth) : depth_(depth) {
    if (++depth_ > kMaxDepth) {
      --depth_;
      throw Unreadable("too deep");
    }
  }
  ~DepthGuard() { --depth_; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  int& depth_;
};

}  // namespace roll::math
