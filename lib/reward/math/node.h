// Tree of one mathematical answer: small, owned by value, with a depth bounded by the parser.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace roll::math {

enum class Kind {
  kNumber,        // text: digits with at most one '.', repeating ones in brackets: 0.1(6)
  kBased,         // text: digits; arguments {base}: 43_5
  kSymbol,        // text: "x", "q_n", "\\pi", "\\infty", "i"
  kText,          // text: words, not mathematics
  kAdd,           // a + b + ...
  kMultiply,      // a b ...
  kDivide,        // a / b
  kPower,         // a ^ b
  kNegate,        // -a
  kFunction,      // text: known name; sin(a), log(x, base), sqrt(a), root(a, n)
  kCall,          // text: unknown name; f(a, b)
  kPlusMinus,     // {a, b}: a +- b; {b}: +- b; text "-+" for the opposite sign
  kPercent,       // a %
  kDegrees,       // a degrees, outside of a function of angles
  kTuple,         // text: its two brackets, "()", "(]", "[)", "[]": tuple, interval or vector
  kSet,           // {a, b}
  kList,          // a, b without brackets; text: "or", "and", "lor", "land", "" between commas, "mixed"
  kSetOperation,  // text: "cup" | "cap" | "setminus"
  kMatrix,        // arguments row by row; columns; text: "", "norm" (between double bars), "cases"
  kRelation,      // operators: "=", "<", "<=", ">", ">=", "!=", "in", "equiv", ...; arguments: one more than operators
};

struct Node {
  Kind kind = Kind::kNumber;
  std::string text;
  std::vector<Node> arguments;
  std::vector<std::string> operators;
  size_t columns = 0;
};

bool operator==(const Node& a, const Node& b);

inline bool is_relation(const Node& node) {
  return node.kind == Kind::kRelation;
}

inline bool is_collection(const Node& node) {
  return node.kind == Kind::kTuple || node.kind == Kind::kSet || node.kind == Kind::kList;
}

/// Returns whether the node is an inequality: "3.1 < x", "x \ne 2", or a chain of these.
inline bool is_inequality(const Node& node) {
  return is_relation(node) && std::ranges::all_of(node.operators, [](const std::string& op) {
           return op[0] == '<' || op[0] == '>' || op == "!=";
         });
}

/// Returns whether `test` holds for the node or any node below it.
template <class Test>
bool any_node(const Node& node, const Test& test) {
  if (test(node)) return true;
  for (const Node& argument : node.arguments)
    if (any_node(argument, test)) return true;
  return false;
}

inline Node make_node(Kind kind, std::string text, std::vector<Node> arguments = {}) {
  return {kind, std::move(text), std::move(arguments), {}, 0};
}

}  // namespace roll::math
