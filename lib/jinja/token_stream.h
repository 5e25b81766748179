// Token stream of a Jinja template, shared by its parsers.
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
  /// UserError: a tag is so long that its closures would exhaust the stack.
  TokenStream(std::vector<Token> tokens, std::string origin);

  const Token& peek(size_t ahead = 0) const { return tokens_[std::min(pos_ + ahead, tokens_.size() - 1)]; }
  const Token& next() { return tokens_[pos_ + 1 < tokens_.size() ? pos_++ : pos_]; }
  int line() const { return peek().line; }

  bool is(TokenKind kind) const { return peek().kind == kind; }
  bool is_operator(std::string_view op) const { return is(TokenKind::kOperator) && peek().text == op; }
  bool is_name(std::string_view name) const { return is(TokenKind::kName) && peek().text == name; }
  bool take_operator(std::string_view op);
  bool take_name(std::string_view name);
  void expect_operator(std::string_view op);
  void expect_name(std::string_view name);
  void expect(TokenKind kind, std::string_view what);
  std::string identifier();

  /// Throws UserError "origin:line: what, at 'token'".
  [[noreturn]] void fail(std::string_view what) const;

  /// Counts the nesting depth of expressions and statements; too deep is a UserError.
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
