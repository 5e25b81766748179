// Lists, relations, sums, products and powers, one function for each level of binding.
#include "reward/math/grammar.h"

#include <algorithm>
#include <map>

#include "reward/math/parser.h"

namespace roll::math {

namespace {

using TokenKind = Token::Kind;

const std::map<std::string, std::string, std::less<>> kRelations = {{"=", "="},
                                                                    {"<", "<"},
                                                                    {">", ">"},
                                                                    {"le", "<="},
                                                                    {"ge", ">="},
                                                                    {"ne", "!="},
                                                                    {"in", "in"},
                                                                    {"notin", "notin"},
                                                                    {"equiv", "equiv"},
                                                                    {"approx", "approx"},
                                                                    {"sim", "sim"},
                                                                    {"cong", "cong"},
                                                                    {"subset", "subset"},
                                                                    {"subseteq", "subseteq"},
                                                                    {"to", "to"},
                                                                    {"rightarrow", "to"},
                                                                    {"Rightarrow", "implies"},
                                                                    {"implies", "implies"},
                                                                    {"iff", "iff"},
                                                                    {"mid", "mid"},
                                                                    {"mapsto", "mapsto"},
                                                                    {"perp", "perp"},
                                                                    {"parallel", "parallel"},
                                                                    {"simeq", "approx"},
                                                                    {"doteq", "="},
                                                                    {"propto", "propto"}};

const std::set<std::string, std::less<>> kInfix = {"cdot",   "pm",     "mp",   "cup", "cap",   "setminus", "oplus",
                                                   "otimes", "pmod",   "bmod", "mod", "pod",   "rfloor",   "rceil",
                                                   "circ",   "rangle", "land", "lor", "wedge", "vee"};

std::string relation_of(const Token& token) {
  if (token.kind != TokenKind::kSign && token.kind != TokenKind::kCommand) return "";
  const auto found = kRelations.find(token.text);
  return found == kRelations.end() ? "" : found->second;
}

bool is_modulus(const Token& token) {
  return token.command("pmod") || token.command("bmod") || token.command("mod") || token.command("pod");
}

}  // namespace

Node Grammar::answer() {
  Node node = list();
  if (!in_.end()) throw Unreadable("unexpected " + in_.peek().text);
  return node;
}

bool Grammar::separator() const {
  const Token& token = in_.peek();
  if (token.kind == TokenKind::kText) {
    std::string word = token.text;
    word.erase(std::remove(word.begin(), word.end(), ' '), word.end());
    return word == "and" || word == "or" || word == ",";
  }
  return token.sign(",") || token.sign(";") || token.command("land") || token.command("lor") ||
         token.command("wedge") || token.command("vee");
}

/// Elements between commas, semicolons, "and", "or"; a single one stands for itself.
Node Grammar::list() {
  const DepthGuard guard(depth_);
  std::vector<Node> elements = {relation()};
  while (separator()) {
    while (separator()) in_.next();
    if (in_.end()) break;
    elements.push_back(relation());
  }
  return elements.size() == 1 ? std::move(elements[0]) : make_node(Kind::kList, "", std::move(elements));
}

Node Grammar::relation() {
  Node first = set_operations();
  if (relation_of(in_.peek()).empty()) return first;
  Node chain = make_node(Kind::kRelation, "", {std::move(first)});
  for (std::string op; !(op = relation_of(in_.peek())).empty();) {
    in_.next();
    chain.operators.push_back(op);
    chain.arguments.push_back(set_operations());
  }
  modulus(chain);
  return chain;
}

/// "\pmod{4}", "(mod 4)", "\bmod 4" behind a congruence: one more operand under the operator "mod".
void Grammar::modulus(Node& relation) {
  const bool bracket = in_.sign("(") && is_modulus(in_.peek(1));
  if (bracket) in_.next();
  if (!is_modulus(in_.peek())) return;
  in_.next();
  relation.operators.push_back("mod");
  relation.arguments.push_back(sum());
  if (bracket) in_.expect(")");
}

Node Grammar::set_operations() {
  Node left = sum();
  while (in_.command("cup") || in_.command("cap") || in_.command("setminus")) {
    const std::string op = in_.next().text;
    left = make_node(Kind::kSetOperation, op, {std::move(left), sum()});
  }
  return left;
}

Node Grammar::sum() {
  const DepthGuard guard(depth_);
  if (in_.command("pm") || in_.command("mp")) {
    const std::string sign = in_.next().text == "pm" ? "+-" : "-+";
    return make_node(Kind::kPlusMinus, sign, {product()});
  }
  Node left = product();
  while (true) {
    if (in_.take_sign("+")) {
      left = make_node(Kind::kAdd, "", {std::move(left), product()});
    } else if (in_.take_sign("-")) {
      left = make_node(Kind::kAdd, "", {std::move(left), make_node(Kind::kNegate, "", {product()})});
    } else if (in_.command("pm") || in_.command("mp")) {
      const std::string sign = in_.next().text == "pm" ? "+-" : "-+";
      left = make_node(Kind::kPlusMinus, sign, {std::move(left), product()});
    } else if (in_.command("oplus")) {
      in_.next();
      left = make_node(Kind::kCall, "oplus", {std::move(left), product()});
    } else {
      return left;
    }
  }
}

Node Grammar::product() {
  Node left = signed_factors();
  while (true) {
    if (in_.take_command("cdot")) {
      left = make_node(Kind::kMultiply, "", {std::move(left), signed_factors()});
    } else if (in_.sign("/") || in_.sign(":")) {
      in_.next();
      left = make_node(Kind::kDivide, "", {std::move(left), signed_factors()});
    } else if (in_.take_command("otimes")) {
      left = make_node(Kind::kCall, "otimes", {std::move(left), signed_factors()});
    } else {
      return left;
    }
  }
}

Node Grammar::signed_factors() {
  const DepthGuard guard(depth_);
  if (in_.take_sign("+")) return signed_factors();
  if (in_.take_sign("-")) return make_node(Kind::kNegate, "", {signed_factors()});
  return factors(false);
}

bool Grammar::factor_follows(bool function_argument) const {
  const Token& token = in_.peek();
  if (token.kind == TokenKind::kNumber || token.kind == TokenKind::kLetter) return true;
  if (token.kind == TokenKind::kSign) {
    if (token.text == "(") return !is_modulus(in_.peek(1)) && !function_argument;
    if (token.text == "|") return bars_ == 0 && !function_argument;
    return token.text == "{" || ((token.text == "[" || token.text == "\\{") && !function_argument);
  }
  if (token.kind != TokenKind::kCommand || kInfix.count(token.text) != 0 || !relation_of(token).empty()) return false;
  return !token.text.starts_with("end:") && !(function_argument && known_function(token.text));
}

/// Words behind a value are its unit, with their power: "\text{ cm}^2", "apples". Dropped.
bool Grammar::take_unit() {
  if (in_.peek().kind != TokenKind::kText || separator()) return false;
  in_.next();
  if (in_.take_sign("^")) script();
  return true;
}

/// Juxtaposed factors. As the argument of a function without brackets it ends before the next function or bracket.
Node Grammar::factors(bool function_argument) {
  const bool text_first = in_.peek().kind == TokenKind::kText;
  Node left = postfix();
  if (text_first && factor_follows(false)) left = postfix();  // "\text{Answer: } 5"
  while (take_unit()) {
  }
  while (factor_follows(function_argument)) {
    const bool digits = left.kind == Kind::kNumber && in_.peek().kind == TokenKind::kNumber;
    if (left.kind == Kind::kNumber && (digits || in_.command("frac"))) {
      left = mixed_number(std::move(left));
    } else {
      left = make_node(Kind::kMultiply, "", {std::move(left), postfix()});
    }
    while (take_unit()) {
    }
  }
  return left;
}

/// "4\frac{5}{8}" and "4 5/8" are sums when the fraction is made of digits; "2 \frac{x}{3}" is a product.
Node Grammar::mixed_number(Node whole) {
  if (in_.peek().kind == TokenKind::kNumber) {
    const bool fraction = in_.peek(1).sign("/") && in_.peek(2).kind == TokenKind::kNumber;
    if (!fraction) throw Unreadable("two numbers side by side");
    Node above = number(in_.next());
    in_.next();
    Node below = number(in_.next());
    return make_node(Kind::kAdd, "",
                     {std::move(whole), make_node(Kind::kDivide, "", {std::move(above), std::move(below)})});
  }
  Node factor = postfix();
  const bool digits = factor.kind == Kind::kDivide && factor.arguments[0].kind == Kind::kNumber &&
                      factor.arguments[1].kind == Kind::kNumber && whole.text.find('.') == std::string::npos;
  return make_node(digits ? Kind::kAdd : Kind::kMultiply, "", {std::move(whole), std::move(factor)});
}

Node Grammar::postfix() {
  Node base = atom();
  while (true) {
    if (in_.sign("^")) {
      base = with_power(std::move(base));
    } else if (in_.take_sign("!")) {
      const bool twice = in_.take_sign("!");
      base = make_node(Kind::kFunction, twice ? "double_factorial" : "factorial", {std::move(base)});
    } else if (in_.take_sign("%")) {
      base = make_node(Kind::kPercent, "", {std::move(base)});
    } else if (!in_.take_command("circ")) {  // degrees are dropped
      return base;
    }
  }
}

/// x^2; x^\circ and x^{\circ} are degrees and dropped; x^* and x^+ are names.
Node Grammar::with_power(Node base) {
  const DepthGuard guard(depth_);
  in_.next();
  if (in_.take_command("circ")) return base;
  if (in_.sign("{") && in_.peek(1).command("circ") && in_.peek(2).sign("}")) {
    for (int i = 0; i < 3; ++i) in_.next();
    return base;
  }
  if (in_.command("prime") || in_.sign("'") || in_.command("cdot") || in_.sign("+"))
    return make_node(Kind::kCall, "superscript " + in_.next().text, {std::move(base)});
  return make_node(Kind::kPower, "", {std::move(base), script()});
}

/// What stands in a superscript: braces, or one atom (a number whole: x^10 is meant as x^{10}), possibly with a sign.
Node Grammar::script() {
  const DepthGuard guard(depth_);
  if (in_.take_sign("-")) return make_node(Kind::kNegate, "", {script()});
  return in_.sign("{") ? braces() : atom();
}

std::set<std::string> function_letters(std::string_view a, std::string_view b) {
  std::set<std::string> called, bare;
  for (const std::string_view text : {a, b}) {
    const std::vector<Token> tokens = tokenize_latex(text);
    for (size_t i = 0; i + 1 < tokens.size(); ++i)
      if (tokens[i].kind == TokenKind::kLetter) (tokens[i + 1].sign("(") ? called : bare).insert(tokens[i].text);
  }
  for (const std::string& letter : bare) called.erase(letter);
  for (const char* constant : {"e", "i"}) called.erase(constant);
  return called;
}

Node parse_answer(std::string_view text, const std::set<std::string>& functions) {
  return Grammar(tokenize_latex(text), functions).answer();
}

}  // namespace roll::math
