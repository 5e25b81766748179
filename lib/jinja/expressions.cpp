#include "jinja/expressions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "jinja/functions.h"

namespace roll::jinja {

namespace {

struct CallArguments {
  std::vector<Expression> positional;
  std::vector<std::pair<std::string, Expression>> named;

  Arguments evaluate(Context& context) const {
    Arguments out;
    for (const Expression& e : positional) out.positional.push_back(e(context));
    for (const auto& [name, e] : named) out.named.emplace_back(name, e(context));
    return out;
  }
};

Expression make_list(std::vector<Expression> parts) {
  return [parts = std::move(parts)](Context& c) {
    List out;
    for (const Expression& part : parts) out.push_back(part(c));
    return Value(std::move(out));
  };
}

class Parser {
 public:
  explicit Parser(TokenStream& in) : in_(in) {}

  Expression conditional() {
    const TokenStream::Nested nested(in_);
    Expression value = disjunction();
    while (in_.take_name("if")) {
      Expression condition = disjunction(), else_value;
      if (in_.take_name("else")) else_value = conditional();
      value = [value, condition, else_value](Context& c) -> Value {
        if (condition(c).truthy()) return value(c);
        return else_value ? else_value(c) : Value(Undefined{"the missing else of an inline if"});
      };
    }
    return value;
  }

  Expression disjunction() {
    Expression left = conjunction();
    while (in_.take_name("or"))
      left = [left = std::move(left), right = conjunction()](Context& c) {
        Value value = left(c);
        return value.truthy() ? value : right(c);
      };
    return left;
  }

 private:
  Expression conjunction() {
    Expression left = negation();
    while (in_.take_name("and"))
      left = [left = std::move(left), right = negation()](Context& c) {
        Value value = left(c);
        return value.truthy() ? right(c) : value;
      };
    return left;
  }

  Expression negation() {
    const TokenStream::Nested nested(in_);
    if (!in_.take_name("not")) return comparison();
    return [value = negation()](Context& c) { return Value(!value(c).truthy()); };
  }

  static bool compare_by(const std::string& op, const Value& a, const Value& b) {
    if (op == "==") return equal(a, b);
    if (op == "!=") return !equal(a, b);
    if (op == "in") return contains(b, a);
    if (op == "not in") return !contains(b, a);
    const int order = compare(a, b);
    return op == "<" ? order < 0 : op == "<=" ? order <= 0 : op == ">" ? order > 0 : order >= 0;
  }

  std::optional<std::string> comparison_operator() {
    for (const std::string_view op : {"==", "!=", "<=", ">=", "<", ">"})
      if (in_.take_operator(op)) return std::string(op);
    if (in_.take_name("in")) return "in";
    if (!in_.is_name("not") || in_.peek(1).text != "in") return {};
    in_.next();
    in_.next();
    return "not in";
  }

  /// Parses a < b < c, which means a < b and b < c.
  Expression comparison() {
    Expression first = sum();
    std::vector<std::pair<std::string, Expression>> rest;
    const int line = in_.line();
    while (auto op = comparison_operator()) rest.emplace_back(*op, sum());
    if (rest.empty()) return first;
    return [first = std::move(first), rest = std::move(rest), line](Context& c) {
      Value left = first(c);
      for (const auto& [op, expression] : rest) {
        Value right = expression(c);
        c.begin_step(line);
        if (!compare_by(op, left, right)) return Value(false);
        left = std::move(right);
      }
      return Value(true);
    };
  }

  /// Parses left-associative operators of one precedence.
  template <size_t n>
  Expression operators(const std::array<std::string_view, n>& ops, Expression (Parser::*operand)()) {
    Expression left = (this->*operand)();
    for (;;) {
      const auto op = std::ranges::find_if(ops, [&](std::string_view o) { return in_.is_operator(o); });
      if (op == ops.end()) return left;
      const int line = in_.next().line;
      left = [left = std::move(left), right = (this->*operand)(), name = std::string(*op), line](Context& c) {
        const Value a = left(c), b = right(c);
        c.begin_step(line);
        return arithmetic(name, a, b);
      };
    }
  }

  Expression sum() { return operators(std::array<std::string_view, 2>{"+", "-"}, &Parser::concatenation); }
  Expression concatenation() { return operators(std::array<std::string_view, 1>{"~"}, &Parser::product); }
  Expression product() { return operators(std::array<std::string_view, 4>{"*", "/", "//", "%"}, &Parser::power); }
  Expression power() { return operators(std::array<std::string_view, 1>{"**"}, &Parser::unary_with_filters); }
  Expression unary_with_filters() { return unary(true); }

  Expression unary(bool with_filters) {
    const TokenStream::Nested nested(in_);
    Expression value;
    if (in_.take_operator("-"))
      value = [operand = unary(false)](Context& c) { return negative(operand(c)); };
    else if (in_.take_operator("+"))
      value = unary(false);
    else
      value = postfix(primary());
    return with_filters ? filters(std::move(value)) : value;
  }

  Expression primary() {
    const Token& token = in_.peek();
    switch (token.kind) {
      case TokenKind::kName:
        return name();
      case TokenKind::kString:
        return strings();
      case TokenKind::kInteger:
        return constant(Value(int64_t{std::stoll(in_.next().text)}));
      case TokenKind::kFloat:
        return constant(Value(std::strtod(in_.next().text.c_str(), nullptr)));
      default:
        break;
    }
    if (in_.take_operator("(")) return parenthesis();
    if (in_.take_operator("[")) return list("]");
    if (in_.take_operator("{")) return dict();
    in_.fail("a value is expected");
  }

  static Expression constant(Value value) {
    return [value = std::move(value)](Context&) { return value; };
  }

  Expression name() {
    const Token token = in_.next();
    const std::string& n = token.text;
    if (n == "true" || n == "True") return constant(true);
    if (n == "false" || n == "False") return constant(false);
    if (n == "none" || n == "None") return constant(None{});
    return [n, line = token.line](Context& c) {
      c.begin_step(line);
      return c.get(n);
    };
  }

  Expression strings() {
    std::string text;
    while (in_.is(TokenKind::kString)) text += in_.next().text;
    return constant(Value(std::move(text)));
  }

  Expression parenthesis() {
    if (in_.take_operator(")")) return constant(List());
    Expression first = conditional();
    if (in_.take_operator(")")) return first;
    in_.expect_operator(",");
    return list(")", std::move(first));
  }

  Expression list(std::string_view closing, Expression first = {}) {
    std::vector<Expression> parts;
    if (first) parts.push_back(std::move(first));
    while (!in_.take_operator(closing)) {
      parts.push_back(conditional());
      if (!in_.is_operator(closing)) in_.expect_operator(",");
    }
    return make_list(std::move(parts));
  }

  Expression dict() {
    std::vector<std::pair<Expression, Expression>> parts;
    while (!in_.take_operator("}")) {
      Expression key = conditional();
      in_.expect_operator(":");
      parts.emplace_back(std::move(key), conditional());
      if (!in_.is_operator("}")) in_.expect_operator(",");
    }
    return [parts = std::move(parts)](Context& c) {
      const Value out = Value::make_namespace({});  // a repeated key replaces the earlier one
      for (const auto& [key, value] : parts) out.set_member(key(c).string(), value(c));
      return Value(out.dict());
    };
  }

  Expression postfix(Expression value) {
    for (;;) {
      const int line = in_.line();
      if (in_.take_operator(".")) {
        if (!in_.is(TokenKind::kName) && !in_.is(TokenKind::kInteger)) in_.fail("a name is expected after '.'");
        const bool index = in_.is(TokenKind::kInteger);
        const std::string name = in_.next().text;
        value = index ? item(std::move(value), constant(Value(int64_t{std::stoll(name)})), line)
                      : attribute(std::move(value), name, line);
      } else if (in_.take_operator("[")) {
        value = subscript(std::move(value), line);
      } else if (in_.take_operator("(")) {
        value = call(std::move(value), line);
      } else {
        return value;
      }
    }
  }

  /// Compiles value.name: a method, else an item.
  static Expression attribute(Expression object, std::string name, int line) {
    return [object = std::move(object), name = std::move(name), line](Context& c) -> Value {
      const Value value = object(c);
      c.begin_step(line);
      if (value.is_undefined()) value.dict();  // throws; the message names the undefined value
      if (auto method = find_method(value, name)) return *std::move(method);
      const Value* member = value.member(name);
      return member ? *member : Value(Undefined{fmt::format("'{}' of a {}", name, value.type_name())});
    };
  }

  /// Compiles value[index]: an item, else a method.
  static Expression item(Expression object, Expression index, int line) {
    return [object = std::move(object), index = std::move(index), line](Context& c) {
      const Value value = object(c), at = index(c);
      c.begin_step(line);
      if (value.is_undefined()) value.dict();
      Value found = get_item(value, at);
      if (!found.is_undefined() || !at.is_string()) return found;
      return find_method(value, at.string()).value_or(found);
    };
  }

  Expression subscript(Expression object, int line) {
    std::array<Expression, 3> bounds;
    size_t count = 0;
    bool is_slice = false;
    for (; !in_.take_operator("]"); ++count) {
      if (count >= bounds.size()) in_.fail("']' is expected");
      if (!in_.is_operator(":") && !in_.is_operator("]")) bounds[count] = conditional();
      if (in_.is_operator("]")) continue;
      in_.expect_operator(":");
      is_slice = true;
    }
    if (!is_slice && !bounds[0]) in_.fail("an index is expected in []");
    if (!is_slice) return item(std::move(object), std::move(bounds[0]), line);
    return [object = std::move(object), bounds = std::move(bounds), line](Context& c) {
      const Value value = object(c);
      std::array<std::optional<int64_t>, 3> at;
      for (size_t i = 0; i < at.size(); ++i)
        if (bounds[i])
          if (const Value bound = bounds[i](c); !bound.is_none()) at[i] = bound.integer();
      c.begin_step(line);
      return get_slice(value, at[0], at[1], at[2].value_or(1));
    };
  }

  CallArguments arguments() {
    CallArguments out;
    while (!in_.take_operator(")")) {
      if (in_.is(TokenKind::kName) && in_.peek(1).kind == TokenKind::kOperator && in_.peek(1).text == "=") {
        std::string name = in_.next().text;
        in_.next();
        out.named.emplace_back(std::move(name), conditional());
      } else {
        if (in_.is_operator("*") || in_.is_operator("**")) in_.fail("* and ** in calls are not supported");
        out.positional.push_back(conditional());
      }
      if (!in_.is_operator(")")) in_.expect_operator(",");
    }
    return out;
  }

  Expression call(Expression callee, int line) {
    return [callee = std::move(callee), arguments = arguments(), line](Context& c) {
      const Value function = callee(c);
      const Arguments call_arguments = arguments.evaluate(c);
      c.begin_step(line);
      return function.function()(call_arguments);
    };
  }

  Expression filters(Expression value) {
    for (;;) {
      const int line = in_.line();
      if (in_.take_operator("|")) {
        const std::string name = in_.identifier();
        CallArguments call_arguments;
        if (in_.take_operator("(")) call_arguments = arguments();
        value = [value = std::move(value), name, call_arguments = std::move(call_arguments), line](Context& c) {
          const Value input = value(c);
          const Arguments evaluated = call_arguments.evaluate(c);
          c.begin_step(line);
          return apply_filter(name, input, evaluated);
        };
      } else if (in_.take_name("is")) {
        value = test(std::move(value), line);
      } else if (in_.take_operator("(")) {
        value = call(std::move(value), line);
      } else {
        return value;
      }
    }
  }

  /// Parses value is [not] name, name(arguments) or name argument.
  Expression test(Expression value, int line) {
    const bool negated = in_.take_name("not");
    const std::string name = in_.identifier();
    CallArguments call_arguments;
    if (in_.take_operator("("))
      call_arguments = arguments();
    else if (starts_argument())
      call_arguments.positional.push_back(postfix(primary()));
    return [value = std::move(value), name, call_arguments = std::move(call_arguments), negated, line](Context& c) {
      const Value input = value(c);
      const Arguments evaluated = call_arguments.evaluate(c);
      c.begin_step(line);
      return Value(apply_test(name, input, evaluated) != negated);
    };
  }

  bool starts_argument() const {
    if (in_.is(TokenKind::kString) || in_.is(TokenKind::kInteger) || in_.is(TokenKind::kFloat)) return true;
    if (in_.is_operator("[") || in_.is_operator("{")) return true;
    if (!in_.is(TokenKind::kName)) return false;
    constexpr std::array<std::string_view, 6> kFollow{"else", "or", "and", "if", "is", "in"};
    return std::ranges::find(kFollow, in_.peek().text) == kFollow.end() && in_.peek().text != "not";
  }

  TokenStream& in_;
};

}  // namespace

Expression parse_expression(TokenStream& in) {
  return Parser(in).conditional();
}

Expression parse_expression_without_if(TokenStream& in) {
  return Parser(in).disjunction();
}

Expression parse_tuple(TokenStream& in, bool with_if) {
  const auto parse_element = [&] { return with_if ? parse_expression(in) : parse_expression_without_if(in); };
  Expression first = parse_element();
  if (!in.is_operator(",")) return first;
  std::vector<Expression> parts{std::move(first)};
  while (in.take_operator(",") && !in.is(TokenKind::kTagEnd) && !in.is(TokenKind::kPrintEnd))
    parts.push_back(parse_element());
  return make_list(std::move(parts));
}

}  // namespace roll::jinja
