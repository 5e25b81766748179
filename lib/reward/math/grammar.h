// The grammar of answers, from the loosest to the tightest binding; see parser.h. Split over two files: grammar.cpp
// (lists, relations, sums, products, powers) and atoms.cpp (numbers, names, brackets, \frac, functions, matrices).
#pragma once

#include <set>
#include <string>

#include "reward/math/token_reader.h"

namespace roll::math {

class Grammar {
 public:
  Grammar(std::vector<Token> tokens, const std::set<std::string>& functions)
      : in_(std::move(tokens)), functions_(functions) {}

  Node answer();

 private:
  // grammar.cpp
  Node list();
  Node relation();
  void modulus(Node& relation);
  Node set_operations();
  Node sum();
  Node product();
  Node signed_factors();
  Node factors(bool function_argument);
  bool factor_follows(bool function_argument) const;
  bool separator() const;
  bool take_unit();
  Node postfix();
  Node with_power(Node base);
  Node script();
  Node mixed_number(Node whole);

  // atoms.cpp
  Node atom();
  Node number(Token token);
  Node letter(Token token);
  Node command(const std::string& name);
  Node bracketed(const std::string& open);
  Node absolute_value();
  Node braces();
  Node fraction_argument();
  Node root();
  Node function(const std::string& name);
  std::vector<Node> function_arguments();
  Node call(Node name);
  Node decorated(const std::string& name);
  Node rounded(const std::string& name, const std::string& close);
  Node matrix(const std::string& environment);
  std::string subscript();

  TokenReader in_;
  const std::set<std::string>& functions_;
  int depth_ = 0;
  int bars_ = 0;  // open |
};

/// Known functions of one or more arguments by their command names (sin, log, gcd, ...).
bool known_function(std::string_view name);

}  // namespace roll::math
