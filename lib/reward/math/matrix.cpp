// Matrices, determinants and cases: environments of rows.
#include "reward/math/grammar.h"

namespace roll::math {

namespace {

/// Without row 0 and a column.
Node minor_of(const Node& matrix, size_t column) {
  Node minor = make_node(Kind::kMatrix, "");
  minor.columns = matrix.columns - 1;
  for (size_t i = matrix.columns; i < matrix.arguments.size(); ++i)
    if (i % matrix.columns != column) minor.arguments.push_back(matrix.arguments[i]);
  return minor;
}

}  // namespace

Node determinant(const Node& matrix) {
  constexpr size_t kMost = 4;
  const size_t n = matrix.columns;
  if (n == 0 || n > kMost || n * n != matrix.arguments.size()) throw Unreadable("no determinant");
  if (n == 1) return matrix.arguments[0];
  Node sum = make_node(Kind::kNumber, "0");
  for (size_t column = 0; column < n; ++column) {
    Node term = make_node(Kind::kMultiply, "", {matrix.arguments[column], determinant(minor_of(matrix, column))});
    if (column % 2 == 1) term = make_node(Kind::kNegate, "", {std::move(term)});
    sum = make_node(Kind::kAdd, "", {std::move(sum), std::move(term)});
  }
  return sum;
}

/// Brackets and parentheses mean the same; single bars make the determinant, double ones a norm.
Node Grammar::matrix(const std::string& environment) {
  if (environment == "array" && in_.sign("{")) braces();  // the column format
  const bool is_known =
      environment.find("matrix") != std::string::npos || environment == "array" || environment == "cases";
  if (!is_known) throw Unreadable(environment);
  Node node = matrix_cells(environment);
  if (environment == "vmatrix") return determinant(node);
  if (environment == "Vmatrix") node.text = "norm";
  if (environment == "cases") node.text = "cases";
  return node;
}

Node Grammar::matrix_cells(const std::string& environment) {
  Node node = make_node(Kind::kMatrix, "");
  size_t row = 0;
  while (true) {
    node.arguments.push_back(cell());
    ++row;
    if (in_.take_sign("&")) continue;
    if (node.columns != 0 && row != node.columns) throw Unreadable("rows of unequal length");
    node.columns = row;
    row = 0;
    const bool more = in_.take_sign("\\\\");
    if (in_.take_command("end:" + environment)) return node;
    if (!more) throw Unreadable("a matrix without its end");
  }
}

/// With the comma, semicolon or period that may stand behind it.
Node Grammar::cell() {
  Node node = relation();
  while (in_.sign(",") || in_.sign(";") || in_.sign(".")) in_.next();
  return node;
}

}  // namespace roll::math
