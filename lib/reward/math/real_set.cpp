// Works on disjoint sorted pieces: union sorts and joins, complement swaps pieces and gaps, and the other operations
// use these two.
#include "reward/math/real_set.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reward/math/equal_expressions.h"

namespace roll::math {

namespace {

constexpr long double kInfinity = std::numeric_limits<long double>::infinity();

bool same_end(long double a, long double b) {
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return std::abs(a - b) <= 1e-12L * std::max({1.0L, std::abs(a), std::abs(b)});
}

bool empty(const Piece& p) {
  return p.low > p.high || (p.low == p.high && (p.low_open || p.high_open));
}

/// Sorts the pieces, and joins overlapping and touching ones.
RealSet normal(RealSet pieces) {
  std::erase_if(pieces, empty);
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece& a, const Piece& b) { return a.low != b.low ? a.low < b.low : a.low_open < b.low_open; });
  RealSet joined;
  for (const Piece& p : pieces) {
    const bool touches = !joined.empty() && (p.low < joined.back().high || (same_end(p.low, joined.back().high) &&
                                                                            !(p.low_open && joined.back().high_open)));
    if (!touches) {
      joined.push_back(p);
    } else if (p.high > joined.back().high || (same_end(p.high, joined.back().high) && !p.high_open)) {
      joined.back().high = p.high;
      joined.back().high_open = p.high_open;
    }
  }
  return joined;
}

RealSet complement(const RealSet& set) {
  RealSet rest;
  Piece gap{-kInfinity, 0, true, false};
  for (const Piece& p : set) {
    gap.high = p.low;
    gap.high_open = !p.low_open;
    rest.push_back(gap);
    gap = {p.high, 0, !p.high_open, false};
  }
  gap.high = kInfinity;
  gap.high_open = true;
  if (gap.low < kInfinity) rest.push_back(gap);
  return normal(rest);
}

RealSet united(RealSet a, const RealSet& b) {
  a.insert(a.end(), b.begin(), b.end());
  return normal(std::move(a));
}

RealSet intersection(const RealSet& a, const RealSet& b) {
  return complement(united(complement(a), complement(b)));
}

class Reader {
 public:
  explicit Reader(Deadline& deadline) : deadline_(deadline) {}

  std::optional<RealSet> read_set(const Node& node) {
    const auto& a = node.arguments;
    switch (node.kind) {
      case Kind::kTuple:
        return a.size() == 2 ? interval(node) : std::nullopt;
      case Kind::kSet:
        return points(a);
      case Kind::kSymbol:
        if (node.text == "\\mathbbR") return RealSet{{-kInfinity, kInfinity, true, true}};
        if (node.text == "\\emptyset") return RealSet{};
        return std::nullopt;
      case Kind::kList:
        return joined(node);
      case Kind::kAdd:  // \mathbb{R} - \{0\}
        if (a[1].kind != Kind::kNegate || a[1].arguments[0].kind != Kind::kSet) return std::nullopt;
        return operation("setminus", read_set(a[0]), read_set(a[1].arguments[0]));
      case Kind::kSetOperation:
        return operation(node.text, read_set(a[0]), read_set(a[1]));
      case Kind::kRelation:
        return relation(node);
      default:
        return std::nullopt;
    }
  }

 private:
  std::optional<RealSet> interval(const Node& node) {
    const long double low = real_constant(node.arguments[0], deadline_),
                      high = real_constant(node.arguments[1], deadline_);
    if (low > high) return std::nullopt;
    return normal({{low, high, node.text[0] == '(' || std::isinf(low), node.text[1] == ')' || std::isinf(high)}});
  }

  RealSet points(const std::vector<Node>& elements) {
    RealSet set;
    for (const Node& element : elements) {
      const long double x = real_constant(element, deadline_);
      set.push_back({x, x, false, false});
    }
    return normal(set);
  }

  static std::optional<RealSet> operation(const std::string& name, std::optional<RealSet> a, std::optional<RealSet> b) {
    if (!a || !b) return std::nullopt;
    if (name == "cup") return united(*a, *b);
    return intersection(*a, name == "cap" ? *b : complement(*b));
  }

  /// Reads relations in one symbol joined by "or", or inequalities joined by "and".
  std::optional<RealSet> joined(const Node& list) {
    const bool is_or = list.text == "or" || list.text == "lor",
               is_and = list.text == "and" || list.text == "land" || std::ranges::all_of(list.arguments, excludes);
    if (is_exclusion(list)) return excluding(list);
    if (!is_or && !is_and) return std::nullopt;
    std::optional<RealSet> set;
    for (const Node& element : list.arguments) {
      if (!is_relation(element) || (is_and && !is_inequality(element))) return std::nullopt;
      const auto next = relation(element);
      if (!next) return std::nullopt;
      set = !set ? *next : is_or ? united(*set, *next) : intersection(*set, *next);
    }
    return set;
  }

  static bool excludes(const Node& node) {
    return is_relation(node) && node.operators == std::vector<std::string>{"!="};
  }

  /// Returns whether the list is x \ne 1, 2, with the name before the first number only.
  static bool is_exclusion(const Node& list) {
    return excludes(list.arguments[0]) && std::none_of(list.arguments.begin() + 1, list.arguments.end(), is_relation) &&
           list.text != "mixed";
  }

  std::optional<RealSet> excluding(const Node& list) {
    const auto rest = relation(list.arguments[0]);
    if (!rest) return std::nullopt;
    return intersection(*rest, complement(points({list.arguments.begin() + 1, list.arguments.end()})));
  }

  /// Reads a chain in one symbol, which is one whole operand: x > 5, 1 < x \le 2, x \ne 0.
  std::optional<RealSet> relation(const Node& node) {
    RealSet set = {{-kInfinity, kInfinity, true, true}};
    for (size_t i = 0; i < node.operators.size(); ++i) {
      const Node &left = node.arguments[i], &right = node.arguments[i + 1];
      const bool on_left = is_bounded(left);
      const Node &unknown = on_left ? left : right, &bound = on_left ? right : left;
      if (!is_bounded(unknown) || !is_one_symbol(innermost(unknown))) return std::nullopt;
      const auto piece = unknown.kind == Kind::kSymbol ? bounded(node.operators[i], on_left, bound)
                                                       : distance(node.operators[i], on_left, unknown, bound);
      if (!piece) return std::nullopt;
      set = intersection(set, *piece);
    }
    return set;
  }

  /// Returns whether the node is a symbol, or its distance |x + a| from a number.
  static bool is_bounded(const Node& node) {
    if (node.kind == Kind::kSymbol) return node.text != "\\infty" && node.text != "\\pi" && node.text != "e";
    return node.kind == Kind::kFunction && node.text == "abs" && is_bounded(innermost(node));
  }

  static const Node& innermost(const Node& node) {
    const Node& inside = node.kind == Kind::kFunction ? node.arguments[0] : node;
    return inside.kind == Kind::kAdd ? inside.arguments[0] : inside;
  }

  bool is_one_symbol(const Node& node) {
    if (symbol_.empty()) symbol_ = node.text;
    return symbol_ == node.text;
  }

  /// Reads |x + a| < b.
  std::optional<RealSet> distance(const std::string& op, bool on_left, const Node& unknown, const Node& bound) {
    const Node& inside = unknown.arguments[0];
    const long double centre = inside.kind == Kind::kAdd ? -real_constant(inside.arguments[1], deadline_) : 0;
    const long double radius = real_constant(bound, deadline_);
    const bool is_near = (op[0] == '<') == on_left, is_open = op.size() == 1;
    if ((op[0] != '<' && op[0] != '>') || !(radius > 0)) return std::nullopt;
    const RealSet near = {{centre - radius, centre + radius, is_near == is_open, is_near == is_open}};
    return is_near ? near : complement(near);
  }

  std::optional<RealSet> bounded(const std::string& op, bool symbol_on_left, const Node& bound) {
    if (op == "in") return symbol_on_left ? read_set(bound) : std::nullopt;
    const long double x = real_constant(bound, deadline_);
    if (op == "=") return RealSet{{x, x, false, false}};
    if (op == "!=") return complement({{x, x, false, false}});
    if (op != "<" && op != "<=" && op != ">" && op != ">=") return std::nullopt;
    const bool below = (op[0] == '<') == symbol_on_left, open = op.size() == 1;
    if (below) return RealSet{{-kInfinity, x, true, open || std::isinf(x)}};
    return RealSet{{x, kInfinity, open || std::isinf(x), true}};
  }

  Deadline& deadline_;
  std::string symbol_;  // the symbol of all relations
};

}  // namespace

std::optional<RealSet> real_set(const Node& node, Deadline& deadline) {
  try {
    return Reader(deadline).read_set(node);
  } catch (const Unreadable&) {
    return std::nullopt;
  }
}

bool same_set(const RealSet& a, const RealSet& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Piece& x, const Piece& y) {
    return same_end(x.low, y.low) && same_end(x.high, y.high) && x.low_open == y.low_open && x.high_open == y.high_open;
  });
}

}  // namespace roll::math
