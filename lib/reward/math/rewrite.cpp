#include "reward/math/rewrite.h"

namespace roll::math {

namespace {

bool has_plus_minus(const Node& node) {
  return any_node(node, [](const Node& n) { return n.kind == Kind::kPlusMinus; });
}

/// Returns the node with every +- as + (upper) or - (lower), and every -+ the other way.
Node with_sign(const Node& node, bool upper) {
  Node copy = node;
  for (Node& argument : copy.arguments) argument = with_sign(argument, upper);
  if (node.kind != Kind::kPlusMinus) return copy;
  Node last = copy.arguments.back();
  if (upper != (node.text == "+-")) last = make_node(Kind::kNegate, "", {std::move(last)});
  return copy.arguments.size() == 1 ? last : make_node(Kind::kAdd, "", {copy.arguments[0], std::move(last)});
}

void append_elements(const Node& node, std::vector<Node>& elements) {
  const bool has_two_values = is_relation(node) ? node.arguments.size() == 2 : !is_collection(node);
  if (!has_two_values || !has_plus_minus(node)) return elements.push_back(node);
  for (const bool upper : {true, false}) elements.push_back(with_sign(node, upper));
}

}  // namespace

Node expanded(const Node& node) {
  if (!has_plus_minus(node)) return node;
  Node result = is_collection(node) ? make_node(node.kind, node.text) : make_node(Kind::kList, "");
  if (!is_collection(node))
    append_elements(node, result.arguments);
  else
    for (const Node& element : node.arguments) append_elements(element, result.arguments);
  return result;
}

Node with_factor_inside(const Node& node) {
  const auto& a = node.arguments;
  const auto in_each = [&](const Node& matrix, const auto& cell) {
    Node result = matrix;
    for (Node& argument : result.arguments) argument = cell(argument);
    return result;
  };
  if (node.kind == Kind::kNegate) {
    const Node inside = with_factor_inside(a[0]);
    if (inside.kind != Kind::kMatrix || inside.text != "") return node;
    return in_each(inside, [](const Node& x) { return make_node(Kind::kNegate, "", {x}); });
  }
  if (node.kind != Kind::kMultiply && node.kind != Kind::kDivide) return node;
  const size_t matrix = a[0].kind == Kind::kMatrix ? 0 : 1;
  const bool is_scaled = a[matrix].kind == Kind::kMatrix && a[matrix].text == "" &&
                         a[1 - matrix].kind != Kind::kMatrix && (matrix == 0 || node.kind == Kind::kMultiply);
  if (!is_scaled) return node;
  return in_each(a[matrix], [&](const Node& x) { return make_node(node.kind, "", {x, a[1 - matrix]}); });
}

Node in_radians(const Node& node) {
  Node copy = node;
  for (Node& argument : copy.arguments) argument = in_radians(argument);
  if (node.kind != Kind::kDegrees) return copy;
  const Node degree = make_node(Kind::kDivide, "", {make_node(Kind::kSymbol, "\\pi"), make_node(Kind::kNumber, "180")});
  return make_node(Kind::kMultiply, "", {std::move(copy.arguments[0]), degree});
}

}  // namespace roll::math
