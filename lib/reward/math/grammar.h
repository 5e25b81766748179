// The grammar of answers, from the loosest to the tightest binding; see parser.h. Split over three files: grammar.cpp
// (lists, relations, sums, products, powers), atoms.cpp (numbers, names, brackets, \frac, functions) and matrix.cpp.
#pragma once

#include <set>
#include <string>

#include "reward/math/parser.h"
#include "reward/math/token_reader.h"

namespace roll::math {

class Grammar {
 public:
  Grammar(std::vector<Token> tokens, const Letters& letters) : in_(std::move(tokens)), letters_(letters) {}

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

  // matrix.cpp
  Node matrix(const std::string& environment);
  Node matrix_cells(const std::string& environment);
  Node cell();

  TokenReader in_;
  const Letters& letters_;
  int depth_ = 0;
  size_t unit_end_ = 0;  // where the last unit ended
  int bars_ = 0;         // open |
};

/// The determinant of a square matrix, by its cofactors. Throws Unreadable beyond 4 x 4.
Node determinant(const Node& matrix);

/// Known functions of one or more arguments by their command names (sin, log, gcd, ...).
bool known_function(std::string_view name);

}  // namespace roll::math
