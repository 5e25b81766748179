// Matches recursively by the kind of the ground truth. First, +- becomes two elements, and "x = 5" becomes its right
// side if the other answer has no left side. Each kind (relation, collection, set, matrix, value) has its own rule.
#include "reward/math/equal_trees.h"

#include <algorithm>

#include "base/nearest.h"
#include "reward/math/equal_expressions.h"
#include "reward/math/grammar.h"
#include "reward/math/real_set.h"
#include "reward/math/rewrite.h"

namespace roll::math {

bool operator==(const Node& a, const Node& b) {
  return a.kind == b.kind && a.text == b.text && a.columns == b.columns && a.operators == b.operators &&
         a.arguments == b.arguments;
}

namespace {

/// Returns whether the node is "a = b" or "x \in S", which gives S as the value of x.
bool is_equation(const Node& node) {
  const auto equates = [](const std::string& op) { return op == "=" || op == "approx"; };
  return is_relation(node) &&
         (std::ranges::all_of(node.operators, equates) || (node.operators.size() == 1 && node.operators[0] == "in"));
}

/// Returns whether the node may be the left side of an assignment: x, f(x), A/S, xy.
bool only_symbols(const Node& node) {
  if (node.kind == Kind::kSymbol || node.kind == Kind::kText) return true;
  const bool container = node.kind == Kind::kCall || node.kind == Kind::kMultiply || node.kind == Kind::kDivide ||
                         node.kind == Kind::kTuple;
  return container && std::all_of(node.arguments.begin(), node.arguments.end(), only_symbols);
}

bool is_assignment(const Node& node) {
  return is_equation(node) && only_symbols(node.arguments[0]);
}

bool is_unknown(const Node& node) {
  return node.kind == Kind::kCall || (node.kind == Kind::kSymbol && node.text != "\\pi" && node.text != "e" &&
                                      node.text != "i" && node.text != "\\infty");
}

/// Returns the lower-case word in a product of letters (Y e s) or a text ("Yes").
std::string node_word(const Node& node) {
  if (node.kind == Kind::kSymbol || node.kind == Kind::kText) return lower_ascii(node.text);
  if (node.kind != Kind::kMultiply) return "";
  const std::string left = node_word(node.arguments[0]), right = node_word(node.arguments[1]);
  return left.empty() || right.empty() ? "" : left + right;
}

/// Returns whether the last operand is only an approximation, as in "\sqrt 2 \approx 1.414".
bool ends_approximately(const Node& node) {
  return is_relation(node) && is_equation(node) && node.operators.back() == "approx";
}

/// Returns the chain without its last operand.
Node without_approximation(Node node) {
  node.arguments.pop_back();
  node.operators.pop_back();
  return node.operators.empty() ? Node(node.arguments[0]) : node;
}

class Equality {
 public:
  Equality(Deadline& deadline, std::string& rule) : deadline_(deadline), rule_(rule) {}

  bool are_equal(Node truth, Node answer) {
    deadline_.check();
    if (ends_approximately(truth) || ends_approximately(answer)) return approximately(truth, answer);
    truth = expanded(truth);
    answer = expanded(answer);
    unwrap(truth, answer);
    for (Node* node : {&truth, &answer}) {
      unwrap_single(*node);
      *node = with_factor_inside(*node);
    }
    name_reals(truth, answer);
    if (truth == answer) return decided("identical", true);
    if (is_relation(truth) && is_relation(answer)) return relations(truth, answer);
    if (is_collection(truth) || is_collection(answer)) return collections(truth, answer);
    if (set_like(truth) || set_like(answer)) return real_sets(truth, answer);
    if (truth.kind == Kind::kMatrix || answer.kind == Kind::kMatrix) return matrices(truth, answer);
    if (is_relation(truth) || is_relation(answer)) return false;
    return values(truth, answer);
  }

 private:
  /// Returns the verdict and records the rule that gave it.
  bool decided(const char* rule, bool equal) {
    rule_ = rule;
    return equal;
  }

  /// Accepts a match of the exact value or its approximation; for a name ("x \approx 42") of the chain as an equation.
  bool approximately(const Node& truth, const Node& answer) {
    const bool in_answer = ends_approximately(answer);
    const Node& chain = in_answer ? answer : truth;
    const auto same = [&](const Node& part) { return in_answer ? are_equal(truth, part) : are_equal(part, answer); };
    const Node exact = without_approximation(chain);
    const bool is_name = exact.kind == Kind::kSymbol && is_unknown(exact);
    return (!is_name && same(exact)) || same(is_name ? as_equation(chain) : chain.arguments.back());
  }

  static Node as_equation(Node chain) {
    chain.operators.back() = "=";
    return chain;
  }

  /// Replaces "all real numbers" by \mathbb{R}; if the truth is \mathbb{R}, \mathbb{Z} or \mathbb{Q}, also the plain
  /// letter.
  static void name_reals(Node& truth, Node& answer) {
    for (Node* node : {&truth, &answer}) {
      const std::string word = node_word(*node);
      if (word == "allrealnumbers" || word == "realnumbers" || word == "allreals" || word == "thesetofallrealnumbers")
        *node = make_node(Kind::kSymbol, "\\mathbbR");
    }
    for (const char* const letter : {"R", "Z", "Q"})
      if (truth.kind == Kind::kSymbol && truth.text == std::string("\\mathbb") + letter &&
          answer.kind == Kind::kSymbol &&
          (answer.text == letter || node_word(answer) == std::string(1, static_cast<char>(*letter + 32))))
        answer = truth;
  }

  /// Adapts to the ground truth's form: "5" takes the right side of "x = 5", and "x = 5" accepts a bare "5".
  static void unwrap(Node& truth, Node& answer) {
    for (Node* node : {&truth, &answer}) {
      if (!is_assignment(*node) || node->arguments.size() < 3) continue;
      node->arguments = {node->arguments.front(), node->arguments.back()};
      node->operators.resize(1);
    }
    const bool truth_equation = is_equation(truth), answer_equation = is_equation(answer);
    if (answer_equation && !truth_equation && !is_relation(truth))
      answer = Node(answer.arguments.back());
    else if (is_assignment(truth) && !answer_equation && !is_relation(answer))
      truth = Node(truth.arguments.back());
    for (Node* node : {&truth, &answer}) *node = expanded(*node);
  }

  static void unwrap_single(Node& node) {
    const bool single = (node.kind == Kind::kSet || node.kind == Kind::kList) && node.arguments.size() == 1;
    if (single) node = Node(node.arguments[0]);
  }

  static bool set_like(const Node& node) {
    const bool is_difference = node.kind == Kind::kAdd && node.arguments[1].kind == Kind::kNegate &&
                               node.arguments[1].arguments[0].kind == Kind::kSet;
    return node.kind == Kind::kSetOperation || is_difference ||
           (node.kind == Kind::kSymbol && (node.text == "\\mathbbR" || node.text == "\\emptyset"));
  }

  bool values(const Node& truth, const Node& answer) {
    rule_ = "text";
    const std::string word = node_word(truth);
    if (!word.empty() && word == node_word(answer)) return true;
    if (truth.kind == Kind::kText || answer.kind == Kind::kText) return false;
    rule_ = "number";
    if (truth.kind == Kind::kBased || answer.kind == Kind::kBased) return based(truth, answer);
    rule_ = any_node(truth, is_unknown) || any_node(answer, is_unknown) ? "expression" : "number";
    if (truth.kind == Kind::kPercent || answer.kind == Kind::kPercent) return percent(truth, answer);
    return expressions(truth, answer) || angles(truth, answer);
  }

  /// Compares angles if only one side is in degrees: \pi/6 equals 30^\circ. (A bare "30" already equals 30^\circ.)
  bool angles(const Node& truth, const Node& answer) {
    const auto has_degrees = [](const Node& node) {
      return any_node(node, [](const Node& n) { return n.kind == Kind::kDegrees; });
    };
    if (has_degrees(truth) == has_degrees(answer)) return false;
    return expressions(in_radians(truth), in_radians(answer));
  }

  bool expressions(const Node& truth, const Node& answer) {
    try {
      return equal_expressions(truth, answer, deadline_);
    } catch (const Unreadable&) {
      return false;
    }
  }

  /// Compares 43_5 with 43_5 by value, and with a bare 43 by its digits (the question named the base).
  bool based(const Node& truth, const Node& answer) {
    if (truth.kind == answer.kind) return expressions(truth, answer);
    return truth.text == answer.text && (truth.kind == Kind::kNumber || answer.kind == Kind::kNumber);
  }

  /// 25% equals 0.25, and also 25, a usual answer to "what percentage".
  bool percent(const Node& truth, const Node& answer) {
    const Node& a = truth.kind == Kind::kPercent ? truth.arguments[0] : truth;
    const Node& b = answer.kind == Kind::kPercent ? answer.arguments[0] : answer;
    return expressions(a, b) || (truth.kind != answer.kind && expressions(truth, answer));
  }

  bool real_sets(const Node& truth, const Node& answer) {
    rule_ = "set";
    const auto a = real_set(truth, deadline_), b = real_set(answer, deadline_);
    if (a && b) return same_set(*a, *b);
    const bool same_operation = truth.kind == answer.kind && truth.text == answer.text && truth.arguments.size() == 2 &&
                                answer.arguments.size() == 2;
    if (!same_operation) return false;
    const auto &x = truth.arguments, &y = answer.arguments;
    if (are_equal(x[0], y[0]) && are_equal(x[1], y[1])) return decided("set", true);
    return truth.text != "setminus" && are_equal(x[0], y[1]) && are_equal(x[1], y[0]);
  }

  bool collections(const Node& truth, const Node& answer) {
    rule_ = "set";
    if (!is_collection(truth) || !is_collection(answer)) return same_real_sets(truth, answer);
    if (has_inequality(truth) || has_inequality(answer)) return same_inequalities(truth, answer);
    if ((truth.text == "lor" && answer.text == "land") || (truth.text == "land" && answer.text == "lor")) return false;
    const bool has_tuple = truth.kind == Kind::kTuple || answer.kind == Kind::kTuple;
    const bool has_set = truth.kind == Kind::kSet || answer.kind == Kind::kSet;
    if (has_tuple && has_set) return false;
    return decided("set", has_tuple ? tuples(truth, answer) : unordered(truth.arguments, answer.arguments, has_set));
  }

  bool same_real_sets(const Node& truth, const Node& answer) {
    const auto a = real_set(truth, deadline_), b = real_set(answer, deadline_);
    return a && b && same_set(*a, *b);
  }

  static bool has_inequality(const Node& node) {
    return node.kind == Kind::kList && std::ranges::any_of(node.arguments, is_inequality);
  }

  /// Compares "x < 2 or x > 3" as the set that it describes, else inequality by inequality.
  bool same_inequalities(const Node& truth, const Node& answer) {
    if (real_set(truth, deadline_) && real_set(answer, deadline_)) return same_real_sets(truth, answer);
    const bool joined_alike = truth.kind == answer.kind && truth.text == answer.text;
    return joined_alike && unordered(truth.arguments, answer.arguments, false) && decided("set", true);
  }

  /// Compares in order; brackets of pairs must agree, since they may be intervals.
  bool tuples(const Node& truth, const Node& answer) {
    const bool pair = truth.arguments.size() == 2;
    const std::string a = truth.kind == Kind::kTuple ? truth.text : "()",
                      b = answer.kind == Kind::kTuple ? answer.text : "()";
    if (truth.arguments.size() != answer.arguments.size() || (pair && a != b)) return false;
    return std::equal(truth.arguments.begin(), truth.arguments.end(), answer.arguments.begin(),
                      [this](const Node& x, const Node& y) { return are_equal(x, y); });
  }

  /// Compares in any order. In a list repeated elements count, in a set they do not.
  bool unordered(const std::vector<Node>& truth, const std::vector<Node>& answer, bool is_set) {
    if (!is_set) return truth.size() == answer.size() && matched(truth, answer);
    const auto inside = [this](const Node& x, const std::vector<Node>& set, bool x_is_truth) {
      return std::any_of(set.begin(), set.end(),
                         [&](const Node& y) { return x_is_truth ? are_equal(x, y) : are_equal(y, x); });
    };
    return std::all_of(truth.begin(), truth.end(), [&](const Node& x) { return inside(x, answer, true); }) &&
           std::all_of(answer.begin(), answer.end(), [&](const Node& y) { return inside(y, truth, false); });
  }

  bool matched(const std::vector<Node>& truth, std::vector<Node> answer) {
    return std::ranges::all_of(truth, [&](const Node& x) {
      const auto found = std::ranges::find_if(answer, [&](const Node& y) { return are_equal(x, y); });
      return found != answer.end() && (answer.erase(found), true);
    });
  }

  /// Returns the rows of a cases environment as tuples, to compare them in any order.
  static std::vector<Node> rows(const Node& matrix) {
    std::vector<Node> rows;
    for (size_t i = 0; i < matrix.arguments.size(); ++i) {
      if (i % matrix.columns == 0) rows.push_back(make_node(Kind::kTuple, "()"));
      rows.back().arguments.push_back(matrix.arguments[i]);
    }
    return rows;
  }

  bool matrices(const Node& truth, const Node& answer) {
    rule_ = "matrix";
    if (truth.kind != answer.kind || truth.text != answer.text || truth.columns != answer.columns ||
        truth.arguments.size() != answer.arguments.size())
      return false;
    const bool equal = truth.text == "cases"
                           ? matched(rows(truth), rows(answer))
                           : std::equal(truth.arguments.begin(), truth.arguments.end(), answer.arguments.begin(),
                                        [this](const Node& x, const Node& y) { return are_equal(x, y); });
    return decided("matrix", equal);
  }

  bool relations(const Node& truth, const Node& answer) {
    rule_ = "relation";
    if (same_operands(truth, answer)) return decided("relation", true);
    const auto a = real_set(truth, deadline_), b = real_set(answer, deadline_);
    const bool one_symbol = a && b && unknown(truth) == unknown(answer);
    if (one_symbol) return decided("relation", same_set(*a, *b));
    const bool single = truth.operators.size() == 1 && answer.operators.size() == 1;
    return decided("relation", single && proportional(truth, answer));
  }

  static std::string unknown(const Node& relation) {
    const Node& middle = relation.arguments[relation.arguments.size() == 3 ? 1 : 0];
    return middle.kind == Kind::kSymbol ? middle.text : relation.arguments.back().text;
  }

  /// Compares operand by operand, in either direction; congruences also modulo their modulus.
  bool same_operands(const Node& truth, const Node& answer) {
    if (truth.arguments.size() != answer.arguments.size()) return false;
    const auto equal_operands = [this](const std::vector<Node>& x, const std::vector<Node>& y) {
      return std::equal(x.begin(), x.end(), y.begin(),
                        [this](const Node& p, const Node& q) { return are_equal(p, q); });
    };
    if (truth.operators == answer.operators && equal_operands(truth.arguments, answer.arguments)) return true;
    return is_reversible(truth) && truth.operators == turned_operators(answer) &&
           equal_operands(truth.arguments, {answer.arguments.rbegin(), answer.arguments.rend()});
  }

  static bool is_reversible(const Node& relation) {
    return std::all_of(relation.operators.begin(), relation.operators.end(),
                       [](const std::string& op) { return op == "=" || op == "!=" || op[0] == '<' || op[0] == '>'; });
  }

  static std::vector<std::string> turned_operators(const Node& relation) {
    std::vector<std::string> result(relation.operators.rbegin(), relation.operators.rend());
    for (std::string& op : result)
      if (op[0] == '<' || op[0] == '>') op[0] = op[0] == '<' ? '>' : '<';
    return result;
  }

  /// Compares relations up to a factor: a = b and 2b = 2a; a < b and -a > -b.
  bool proportional(const Node& truth, const Node& answer) {
    const std::string &p = truth.operators[0], &q = answer.operators[0];
    const bool symmetric = p == "=" || p == "!=";
    if (!symmetric && p[0] != '<' && p[0] != '>') return false;
    const bool turned = p != q && turned_operators(answer)[0] == p;
    if (p != q && !turned) return false;
    try {
      const int sign = proportion_of_differences(truth.arguments[0], truth.arguments[1], answer.arguments[0],
                                                 answer.arguments[1], deadline_);
      if (sign == 2 || sign == 0) return false;
      return symmetric || (sign == 1) == !turned;
    } catch (const Unreadable&) {
      return false;
    }
  }

  Deadline& deadline_;
  std::string& rule_;
};

}  // namespace

bool equal_trees(const Node& truth, const Node& answer, Deadline& deadline, std::string& rule) {
  return Equality(deadline, rule).are_equal(truth, answer);
}

}  // namespace roll::math
