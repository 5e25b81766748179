// Token stream of a Jinja template, shared by the parsers of expressions and statements.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "jinja/lexer.h"

namespace roll::jinja {

/// Tokens of a template, read from front to back.
class TokenStream {
 public:
  /// `tokens`: result of tokenize(); `origin`: the template's name in messages. Throws UserError if a tag has more than
  /// 4000 tokens: its closures could exhaust the stack.
  TokenStream(std::vector<Token> tokens, std::string origin);

  /// Returns a token without moving: 0 is the next one. At the end, returns the kEnd token.
  const Token& peek(size_t ahead = 0) const { return tokens_[std::min(pos_ + ahead, tokens_.size() - 1)]; }
  /// Returns the next token and moves behind it, but never past kEnd.
  const Token& next() { return tokens_[pos_ + 1 < tokens_.size() ? pos_++ : pos_]; }
  /// Returns the next token's line.
  int line() const { return peek().line; }

  /// Return true if the next token has this kind, or is this operator or name.
  bool is(TokenKind kind) const { return peek().kind == kind; }
  bool is_operator(std::string_view op) const { return is(TokenKind::kOperator) && peek().text == op; }
  bool is_name(std::string_view name) const { return is(TokenKind::kName) && peek().text == name; }
  /// If the next token is this one, move behind it and return true; else return false.
  bool take_operator(std::string_view op);
  bool take_name(std::string_view name);
  /// Move behind the next token, which must be this one; throw UserError if it is not. `what` describes the expected
  /// token: "%}".
  void expect_operator(std::string_view op);
  void expect_name(std::string_view name);
  void expect(TokenKind kind, std::string_view what);
  /// Returns the next token, which must be a name, and moves behind it. Throws UserError if it is not a name.
  std::string identifier();

  /// Throws UserError "ORIGIN:LINE: what, at 'next token'".
  [[noreturn]] void fail(std::string_view what) const;

  /// Counts one level of nesting of expressions or statements during its lifetime. Its constructor throws UserError if
  /// they are nested too deep to be parsed recursively.
  class Nested {
   public:
    explicit Nested(TokenStream& stream);
    ~Nested() { --stream_.depth_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    TokenStream& stream_;
  };

 private:
  std::vector<Token> tokens_;
  std::string origin_;
  size_t pos_ = 0;
  int depth_ = 0;
};

}  // namespace roll::jinja
