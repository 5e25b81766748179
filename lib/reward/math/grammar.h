// Parser of answers: turns the tokens of lexer.h into a tree (node.h), by recursive descent, with the conventions of
// mathematical writing. compare.h and equal_trees.h use the result of parse_answer(). Juxtaposition multiplies and
// binds tighter than "/" (1/2x = 1/(2x)); \frac 34 takes single digits; units and words after a value are dropped;
// 4\frac{5}{8} is a mixed number. grammar.cpp has lists, relations, sums, products and powers; atoms.cpp has numbers,
// names, brackets, \frac, functions and matrices.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "reward/math/lexer.h"
#include "reward/math/limits.h"
#include "reward/math/node.h"

namespace roll::math {

/// How to read letters. Both answers of a comparison must be parsed with the same Letters, chosen from both.
struct Letters {
  /// Letters that denote functions: they occur directly before "(" and never elsewhere. f in f(0) is a function, but n
  /// in n(n+1) is a factor.
  std::set<std::string> functions;
  /// True if one of the answers uses a letter in both cases, such as R and r; then they are different symbols.
  /// Otherwise the case of letters is ignored, as writers are careless.
  bool case_counts = false;
};

/// Chooses how to read the letters of answers a and b. Throws Unreadable like tokenize_latex().
Letters choose_letters(std::string_view a, std::string_view b);

/// Parses an answer, LaTeX or plain text. Throws Unreadable if it is not mathematics that this parser reads, or exceeds
/// the limits of limits.h.
Node parse_answer(std::string_view text, const Letters& letters);

/// Tokens with a reading position. The last token is of kind kEnd; the position never moves past it.
class TokenReader {
 public:
  explicit TokenReader(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  /// Returns the next token, or the one `ahead` tokens after it, without moving.
  const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  size_t position() const { return at_; }
  /// Return whether the next token is this sign, this command, or the end.
  bool sign(std::string_view s) const { return peek().sign(s); }
  bool command(std::string_view s) const { return peek().command(s); }
  bool end() const { return peek().kind == Token::Kind::kEnd; }

  /// Returns the next token and moves past it. Throws Unreadable after too many calls.
  Token next() {
    if (++taken_ > 8 * kMaxNodes) throw Unreadable("too long");
    Token token = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  /// Move past the next token if it is this sign or command, and return whether it was.
  bool take_sign(std::string_view s) { return sign(s) && (next(), true); }
  bool take_command(std::string_view s) { return command(s) && (next(), true); }
  /// Moves past this sign. Throws Unreadable if the next token is another.
  void expect(std::string_view s) {
    if (!take_sign(s)) throw Unreadable("missing " + std::string(s));
  }

  /// Like next(), but of a number takes only the first digit and leaves the others as the next token (\frac 34).
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

/// Counts nested calls in `depth` while it exists. The constructor throws Unreadable if they are too deep.
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

/// The parser itself; parse_answer() uses it. The private functions read one construct each at the reading
/// position, and throw Unreadable if they cannot.
class Grammar {
 public:
  /// `letters` must outlive this object.
  Grammar(std::vector<Token> tokens, const Letters& letters) : in_(std::move(tokens)), letters_(letters) {}

  /// Parses all tokens as one answer; may be called once.
  Node answer();

 private:
  // grammar.cpp
  Node list();
  Node relation();
  void modulus(Node& relation);
  Node set_operations();
  Node sum();
  Node product();
  Node ratio(Node first);
  Node signed_factors();
  Node factors(bool function_argument);
  bool factor_follows(bool function_argument) const;
  std::string separator() const;
  bool take_separators(std::string& joined);
  bool take_unit();
  bool unit_continues() const;
  Node postfix();
  Node with_power(Node base);
  Node script();
  Node mixed_number(Node whole);
  static Node mixed_number(Node whole, Node factor);

  // atoms.cpp
  Node atom();
  Node number(Token token);
  Node letter(Token token);
  Node command(const std::string& name);
  Node symbol(const std::string& letter) const;
  Node bracketed(const std::string& open);
  Node interval_turned(Node inside, const Token& close);
  bool takes_set_builder();
  Node angled();
  Node absolute_value();
  Node braces();
  Node rest_of_braces();
  Node fraction_argument();
  Node root();
  Node function(const std::string& name);
  std::vector<Node> function_arguments();
  Node call(Node name);
  Node decorated(const std::string& name);
  Node rounded(const std::string& name, const std::string& close);
  std::string subscript();

  Node matrix(const std::string& environment);
  Node matrix_cells(const std::string& environment);
  Node cell();

  TokenReader in_;
  const Letters& letters_;
  int depth_ = 0;
  size_t unit_end_ = 0;  // position after the last unit
  int bars_ = 0;         // number of open |
};

/// Returns the determinant of a kMatrix node as an expression. Throws Unreadable if the matrix is not square or larger
/// than 4 x 4.
Node determinant(const Node& matrix);

/// Returns whether the command `name` is a known function (sin, log, gcd, ...).
bool known_function(std::string_view name);

}  // namespace roll::math
