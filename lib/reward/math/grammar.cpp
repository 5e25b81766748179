// Parser levels for lists, relations, sums, products and powers: one function per level.
#include "reward/math/grammar.h"

#include <algorithm>

#include "reward/math/commands.h"

namespace roll::math {

namespace {

using TokenKind = Token::Kind;

const WordTable kRelations = by_word(
    "= = doteq, < <, > >, <= le, >= ge, != ne, in in, notin notin, equiv equiv, approx approx simeq, sim sim, "
    "cong cong, subset subset, subseteq subseteq, to to rightarrow, implies implies Rightarrow, iff iff, "
    "mid mid, mapsto mapsto, perp perp, parallel parallel, propto propto");

const std::set<std::string, std::less<>> kInfix = {"cdot",   "pm",     "mp",   "cup", "cap",   "setminus", "oplus",
                                                   "otimes", "pmod",   "bmod", "mod", "pod",   "rfloor",   "rceil",
                                                   "circ",   "rangle", "land", "lor", "wedge", "vee",      "choose"};

std::string relation_sign(const Token& token) {
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

/// Returns "or", "and", "lor", "land" or ","; "" if the next token is no separator.
std::string Grammar::separator() const {
  const Token& token = in_.peek();
  if (token.kind == TokenKind::kText) {
    std::string word = token.text;
    std::erase_if(word, [](char c) { return c == ' ' || c == ','; });
    return word == "and" || word == "or" ? word : token.text.find(',') != std::string::npos && word.empty() ? "," : "";
  }
  if (token.sign(",") || token.sign(";")) return ",";
  if (token.command("lor") || token.command("vee")) return "lor";
  return token.command("land") || token.command("wedge") ? "land" : "";
}

/// Takes separators and returns whether there were any; `joined` becomes the list's common word, or "mixed".
bool Grammar::take_separators(std::string& joined) {
  std::string word;
  bool is_first = true;
  for (std::string next; !(next = separator()).empty(); in_.next(), is_first = false)
    if (next != ",") word = next;
  if (is_first) return false;
  if (joined.empty()) joined = word;  // "1, 2 or 3"
  if (!word.empty() && joined != word) joined = "mixed";
  return true;
}

/// Reads elements between commas, semicolons, "and", "or"; a single element is returned itself.
Node Grammar::list() {
  const DepthGuard guard(depth_);
  std::vector<Node> elements = {relation()};
  std::string joined;
  while (take_separators(joined)) {
    if (in_.end()) break;
    elements.push_back(relation());
  }
  return elements.size() == 1 ? std::move(elements[0]) : make_node(Kind::kList, joined, std::move(elements));
}

Node Grammar::relation() {
  while (in_.sign("=") || relation_sign(in_.peek()) == "approx" || in_.command("sim")) in_.next();  // "\approx 42"
  Node first = set_operations();
  if (relation_sign(in_.peek()).empty()) return first;
  Node chain = make_node(Kind::kRelation, "", {std::move(first)});
  for (std::string op; !(op = relation_sign(in_.peek())).empty();) {
    in_.next();
    chain.operators.push_back(op);
    chain.arguments.push_back(set_operations());
  }
  modulus(chain);
  return chain;
}

/// Reads "\pmod{4}", "(mod 4)" or "\bmod 4" after a congruence, as one more operand with the operator "mod".
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
    } else if (unit_continues()) {
      in_.next();
      in_.next();
      if (in_.take_sign("^")) script();
    } else if (in_.sign(":")) {
      left = ratio(std::move(left));
    } else if (in_.take_sign("/")) {
      left = make_node(Kind::kDivide, "", {std::move(left), signed_factors()});
    } else if (in_.take_command("otimes")) {
      left = make_node(Kind::kCall, "otimes", {std::move(left), signed_factors()});
    } else {
      return left;
    }
  }
}

/// Reads ratios: 3:4 is a quotient; 3:4:5 becomes the ratios of its later parts to the first.
Node Grammar::ratio(Node first) {
  std::vector<Node> parts;
  while (in_.take_sign(":")) parts.push_back(signed_factors());
  if (parts.size() == 1) return make_node(Kind::kDivide, "", {std::move(first), std::move(parts[0])});
  for (Node& part : parts) part = make_node(Kind::kDivide, "", {std::move(part), first});
  return make_node(Kind::kCall, "ratio", std::move(parts));
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
    if (token.text == "[" && (in_.peek(1).kind == TokenKind::kEnd || in_.peek(1).command("cup")))
      return false;  // ]1, 2[
    return token.text == "{" || ((token.text == "[" || token.text == "\\{") && !function_argument);
  }
  if (token.kind != TokenKind::kCommand || kInfix.count(token.text) != 0 || !relation_sign(token).empty()) return false;
  return !token.text.starts_with("end:") && !(function_argument && known_function(token.text));
}

/// Drops words after a value, which are its unit, with their power: "\text{ cm}^2", "apples".
bool Grammar::take_unit() {
  if (in_.peek().kind != TokenKind::kText || !separator().empty()) return false;
  in_.next();
  if (in_.take_sign("^")) script();
  unit_end_ = in_.position();
  return true;
}

/// Returns whether the unit goes on, as "/ \mathrm{s}" in "5 \mathrm{m} / \mathrm{s}".
bool Grammar::unit_continues() const {
  const TokenKind next = in_.peek(1).kind;
  return in_.sign("/") && unit_end_ == in_.position() && (next == TokenKind::kText || next == TokenKind::kLetter);
}

/// Reads juxtaposed factors. The argument of a function without brackets ends before the next function or bracket.
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

/// Reads "4\frac{5}{8}" and "4 5/8" as sums if the fraction consists of digits; "2 \frac{x}{3}" is a product.
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
  if (factor.kind == Kind::kPercent || factor.kind == Kind::kDegrees)  // applies to the whole mixed number
    return make_node(factor.kind, "", {mixed_number(std::move(whole), std::move(factor.arguments[0]))});
  return mixed_number(std::move(whole), std::move(factor));
}

Node Grammar::mixed_number(Node whole, Node factor) {
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
    } else if (in_.take_command("circ")) {
      base = make_node(Kind::kDegrees, "", {std::move(base)});
    } else {
      return base;
    }
  }
}

/// Reads a power: x^2; x^\circ and x^{\circ} are degrees; x^* and x^+ are names.
Node Grammar::with_power(Node base) {
  const DepthGuard guard(depth_);
  in_.next();
  if (in_.take_command("circ")) return make_node(Kind::kDegrees, "", {std::move(base)});
  if (in_.sign("{") && in_.peek(1).command("circ") && in_.peek(2).sign("}")) {
    for (int i = 0; i < 3; ++i) in_.next();
    return make_node(Kind::kDegrees, "", {std::move(base)});
  }
  if (in_.command("prime") || in_.sign("'") || in_.command("cdot") || in_.sign("+"))
    return make_node(Kind::kCall, "superscript " + in_.next().text, {std::move(base)});
  return make_node(Kind::kPower, "", {std::move(base), script()});
}

/// Reads a superscript: braces, or one atom (a whole number: x^10 means x^{10}), possibly with a sign.
Node Grammar::script() {
  const DepthGuard guard(depth_);
  if (in_.take_sign("-")) return make_node(Kind::kNegate, "", {script()});
  return in_.sign("{") ? braces() : atom();
}

Letters choose_letters(std::string_view a, std::string_view b) {
  std::set<std::string> called, bare;
  Letters letters;
  for (const std::string_view text : {a, b}) {
    std::set<char> seen;
    const std::vector<Token> tokens = tokenize_latex(text);
    for (size_t i = 0; i + 1 < tokens.size(); ++i) {
      if (tokens[i].kind != TokenKind::kLetter) continue;
      (tokens[i + 1].sign("(") ? called : bare).insert(tokens[i].text);
      const char c = tokens[i].text[0];
      const bool is_ascii = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      if (!is_ascii) continue;
      seen.insert(c);
      letters.case_counts |= seen.contains(static_cast<char>(c ^ 0x20));
    }
  }
  for (const std::string& letter : bare) called.erase(letter);
  for (const char* constant : {"e", "i"}) called.erase(constant);
  letters.functions = std::move(called);
  return letters;
}

Node parse_answer(std::string_view text, const Letters& letters) {
  return Grammar(tokenize_latex(text), letters).answer();
}

}  // namespace roll::math
