#include "jinja/token_stream.h"

#include "base/error.h"

namespace roll::jinja {

namespace {

constexpr int kMaxNesting = 400;  // a pair of parentheses counts as three
constexpr int kMaxTokensPerTag = 4000;

}  // namespace

TokenStream::TokenStream(std::vector<Token> tokens, std::string origin)
    : tokens_(std::move(tokens)), origin_(std::move(origin)) {
  int in_tag = 0;
  for (const Token& token : tokens_) {
    in_tag = token.kind == TokenKind::kText || token.kind == TokenKind::kTagEnd || token.kind == TokenKind::kPrintEnd
                 ? 0
                 : in_tag + 1;
    if (in_tag > kMaxTokensPerTag)
      throw user_error("{}:{}: a tag has more than {} tokens; split it", origin_, token.line, kMaxTokensPerTag);
  }
}

bool TokenStream::take_operator(std::string_view op) {
  return is_operator(op) && (next(), true);
}

bool TokenStream::take_name(std::string_view name) {
  return is_name(name) && (next(), true);
}

void TokenStream::expect_operator(std::string_view op) {
  if (!take_operator(op)) fail(fmt::format("'{}' is expected", op));
}

void TokenStream::expect_name(std::string_view name) {
  if (!take_name(name)) fail(fmt::format("'{}' is expected", name));
}

void TokenStream::expect(TokenKind kind, std::string_view what) {
  if (!is(kind)) fail(fmt::format("{} is expected", what));
  next();
}

std::string TokenStream::identifier() {
  if (!is(TokenKind::kName)) fail("a name is expected");
  return next().text;
}

void TokenStream::fail(std::string_view what) const {
  const Token& token = peek();
  const std::string found_token = token.kind == TokenKind::kEnd ? "the end of the template"
                                  : token.text.empty()          ? "the tag's end"
                                                                : fmt::format("'{}'", token.text.substr(0, 40));
  throw user_error("{}:{}: {}, at {}", origin_, token.line, what, found_token);
}

TokenStream::Nested::Nested(TokenStream& stream) : stream_(stream) {
  if (++stream.depth_ <= kMaxNesting) return;
  --stream.depth_;
  stream.fail("expressions or blocks are nested too deeply");
}

}  // namespace roll::jinja
