// Tree of one parsed mathematical answer: made by grammar.h, compared by equal_trees.h. Small, owned by value, with a
// depth bounded by the parser.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace roll::math {

/// Kind of a node. The comments say which of the node's members have a meaning; a, b, ... are its arguments.
enum class Kind {
  kNumber,        // text: digits with at most one '.'; repeating digits are in brackets: 0.1(6)
  kBased,         // text: digits; arguments: the base (43_5)
  kSymbol,        // text: "x", "q_n", "\\pi", "\\infty", "i"
  kText,          // text: words, not mathematics
  kAdd,           // a + b
  kMultiply,      // a b
  kDivide,        // a / b
  kPower,         // a ^ b
  kNegate,        // -a
  kFunction,      // text: name of a known function: sin(a), log(a), log(a, base), sqrt(a), root(a, n)
  kCall,          // text: name of an unknown function: f(a, b)
  kPlusMinus,     // two arguments: a +- b; one: +- a; text: "+-", or "-+" for the opposite sign
  kPercent,       // a %
  kDegrees,       // a degrees, outside of a function of angles such as sin
  kTuple,         // tuple, interval or vector of any length; text: the two brackets, "()", "(]", "[)" or "[]"
  kSet,           // {a, b, ...}
  kList,          // a, b, ... without brackets; text: the word between them, "or", "and", "lor", "land", "" or "mixed"
  kSetOperation,  // a cup b; text: "cup" | "cap" | "setminus"
  kMatrix,        // arguments: the cells, row by row; columns; text: "", "norm" (between double bars) or "cases"
  kRelation,      // a chain a = b < ...; operators: "=", "<", "<=", ">", ">=", "!=", "in", "equiv", ...
};

struct Node {
  Kind kind = Kind::kNumber;
  std::string text;
  std::vector<Node> arguments;
  std::vector<std::string> operators;  // kRelation: operators[i] is between arguments[i] and arguments[i + 1]
  size_t columns = 0;                  // kMatrix: number of columns; 0 for other kinds
};

/// Returns whether the trees are identical; equal_trees() compares their meanings.
bool operator==(const Node& a, const Node& b);

inline bool is_relation(const Node& node) {
  return node.kind == Kind::kRelation;
}

/// Returns whether the node is a tuple, a set or a list.
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

/// Makes a node without operators and columns.
inline Node make_node(Kind kind, std::string text, std::vector<Node> arguments = {}) {
  return {kind, std::move(text), std::move(arguments), {}, 0};
}

}  // namespace roll::math
