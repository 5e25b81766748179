// The parser's tightest level: numbers, names, brackets, \frac, functions, matrices. An unknown command is a symbol.
#include <algorithm>
#include <cctype>
#include <utility>

#include "reward/math/grammar.h"
#include "reward/math/rewrite.h"

namespace roll::math {

namespace {

using TokenKind = Token::Kind;

const std::set<std::string, std::less<>> kFunctions = {
    "sin",    "cos",     "tan",     "cot",     "sec",  "csc",  "arcsin", "arccos", "arctan", "arccot",
    "arcsec", "arccsc",  "sinh",    "cosh",    "tanh", "coth", "sech",   "csch",   "arsinh", "arcosh",
    "artanh", "arcsinh", "arccosh", "arctanh", "ln",   "log",  "lg",     "exp",    "gcd",    "lcm",
    "cis",    "min",     "max",     "Re",      "Im",   "arg",  "Arg",    "Gamma",  "sgn"};

// Commands for computations, which this parser does not read as answers.
const std::set<std::string, std::less<>> kUnreadable = {"int",      "iint",    "oint",   "sum",    "prod",
                                                        "lim",      "limsup",  "liminf", "bigcup", "bigcap",
                                                        "bigoplus", "partial", "nabla",  "forall", "exists"};

std::string closing(const std::string& open) {
  return open == "(" ? ")" : open == "[" ? "]" : "\\}";
}

/// Functions whose argument is an angle.
const std::set<std::string, std::less<>> kAngleFunctions = {"sin", "cos", "tan", "cot", "sec", "csc", "cis"};

bool says_such_that(const Token& token) {
  return token.sign(":") || token.sign("|") || token.command("mid");
}

/// Returns the matrix without row 0 and one column.
Node matrix_minor(const Node& matrix, size_t column) {
  Node minor = make_node(Kind::kMatrix, "");
  minor.columns = matrix.columns - 1;
  for (size_t i = matrix.columns; i < matrix.arguments.size(); ++i)
    if (i % matrix.columns != column) minor.arguments.push_back(matrix.arguments[i]);
  return minor;
}

}  // namespace

bool known_function(std::string_view name) {
  return kFunctions.count(name) != 0;
}

Node Grammar::atom() {
  const DepthGuard guard(depth_);
  const Token token = in_.next();
  switch (token.kind) {
    case TokenKind::kNumber:
      return number(token);
    case TokenKind::kLetter:
      return letter(token);
    case TokenKind::kCommand:
      return command(token.text);
    case TokenKind::kText:
      return make_node(Kind::kText, plain_text(token.text));
    case TokenKind::kEnd:
      break;
    case TokenKind::kSign:
      if (token.text == "(" || token.text == "[" || token.text == "\\{") return bracketed(token.text);
      if (token.text == "|") return absolute_value();
      if (token.text == "]") {
        Node inside = list();
        return interval_turned(std::move(inside), in_.next());
      }
      if (token.text == "{") return rest_of_braces();
  }
  throw Unreadable("unexpected " + token.text);
}

Node Grammar::number(Token token) {
  Node node = make_node(Kind::kNumber, token.text);
  if (!in_.sign("_")) return node;
  const std::string base = subscript();
  const bool digits = !base.empty() && base.size() <= 2 && std::all_of(base.begin(), base.end(), ::isdigit);
  if (!digits) throw Unreadable("a number with an index");
  return make_node(Kind::kBased, token.text, {make_node(Kind::kNumber, base)});
}

/// Reads a subscript "_{n+1}" or "_1" and joins its tokens: names are compared as text.
std::string Grammar::subscript() {
  in_.next();
  if (!in_.sign("{")) return in_.next().text;
  std::string text;
  int open = 0;
  do {
    const Token token = in_.next();
    if (token.kind == TokenKind::kEnd) throw Unreadable("missing }");
    open += token.sign("{") - token.sign("}");
    if (!token.sign("{") && !token.sign("}")) text += token.text;
  } while (open > 0);
  return text;
}

Node Grammar::letter(Token token) {
  const bool function = letters_.functions.count(token.text) != 0 && in_.sign("(");
  Node node = symbol(token.text);
  while (in_.take_sign("'")) node.text += "'";
  if (in_.sign("_")) (node.text += '_') += subscript();  // one by one: g++ 12 warns of "_" + temporary
  const bool primed = node.text.back() == '\'' && in_.sign("(");
  return function || primed ? call(std::move(node)) : node;
}

Node Grammar::symbol(const std::string& letter) const {
  const bool stays = letter.size() != 1 || letter == "E" || letter == "I" || letters_.case_counts;
  return make_node(
      Kind::kSymbol,
      stays ? letter : std::string(1, static_cast<char>(std::tolower(static_cast<unsigned char>(letter[0])))));
}

Node Grammar::call(Node name) {
  Node arguments = bracketed(in_.next().text);
  const bool several = arguments.kind == Kind::kTuple || arguments.kind == Kind::kList;
  return make_node(Kind::kCall, name.text, several ? arguments.arguments : std::vector<Node>{std::move(arguments)});
}

Node Grammar::command(const std::string& name) {
  if (name == "frac") {
    Node above = fraction_argument();
    return make_node(Kind::kDivide, "", {std::move(above), fraction_argument()});
  }
  if (name == "binom") {
    Node n = fraction_argument();
    return make_node(Kind::kFunction, "binomial", {std::move(n), fraction_argument()});
  }
  if (name == "sqrt") return root();
  if (name == "langle") return angled();
  if (name == "det" && in_.peek().kind == TokenKind::kCommand && in_.peek().text.starts_with("begin:"))
    return determinant(atom());
  if (name == "lfloor") return rounded("floor", "rfloor");
  if (name == "lceil") return rounded("ceil", "rceil");
  if (name.starts_with("begin:")) return matrix(name.substr(6));
  if (name.starts_with("end:") || kUnreadable.count(name) != 0) throw Unreadable("\\" + name);
  if (known_function(name)) return function(name);
  if (in_.sign("{")) return decorated(name);
  Node node = make_node(Kind::kSymbol, "\\" + name);
  if (in_.sign("_")) (node.text += '_') += subscript();  // one by one: g++ 12 warns of "_" + temporary
  const bool called = in_.sign("(") && name.size() > 1 && std::isupper(static_cast<unsigned char>(name[0]));
  return called ? call(std::move(node)) : node;
}

/// Reads \vec{v}, \overline{AB} or \boxed{5}: boxes are transparent, other decorations become calls.
Node Grammar::decorated(const std::string& name) {
  Node inside = braces();
  if (name == "boxed" || name == "fbox" || name == "mathop" || name == "color" || name == "ensuremath") return inside;
  return make_node(Kind::kCall, "\\" + name, {std::move(inside)});
}

Node Grammar::rounded(const std::string& name, const std::string& close) {
  Node inside = sum();
  if (!in_.take_command(close)) throw Unreadable("missing " + close);
  return make_node(Kind::kFunction, name, {std::move(inside)});
}

Node Grammar::absolute_value() {
  ++bars_;
  Node inside = sum();
  --bars_;
  in_.expect("|");
  if (inside.kind == Kind::kMatrix) return determinant(inside);
  return make_node(Kind::kFunction, "abs", {std::move(inside)});
}

/// Reads \langle a, b \rangle as a vector; around a single element the brackets are a call.
Node Grammar::angled() {
  Node inside = list();
  if (!in_.take_command("rangle")) throw Unreadable("missing rangle");
  if (inside.kind == Kind::kList) return make_node(Kind::kTuple, "()", std::move(inside.arguments));
  return make_node(Kind::kCall, "\\langle", {std::move(inside)});
}

/// Reads intervals with reversed brackets: ]1, 2[ is (1, 2), ]1, 2] is (1, 2].
Node Grammar::interval_turned(Node inside, const Token& close) {
  const bool is_pair = inside.kind == Kind::kList && inside.arguments.size() == 2;
  if (!is_pair || (!close.sign("[") && !close.sign("]"))) throw Unreadable("brackets do not match");
  return make_node(Kind::kTuple, close.sign("[") ? "()" : "(]", std::move(inside.arguments));
}

/// Skips the "x |" of \{x | x > 2\}, or "x \in \mathbb{R} |": the condition after it suffices.
bool Grammar::takes_set_builder() {
  if (in_.peek().kind != TokenKind::kLetter) return false;
  const bool is_real = in_.peek(1).command("in") && in_.peek(2).command("mathbbR");
  const size_t separator = is_real ? 3 : 1;
  if (!says_such_that(in_.peek(separator))) return false;
  for (size_t i = 0; i <= separator; ++i) in_.next();
  return true;
}

/// Reads brackets: (a) and [a] group; (a, b], [a, b, c] are tuples or intervals; \{a, b\} is a set; (1011)_2 is 1011_2.
Node Grammar::bracketed(const std::string& open) {
  const int bars = std::exchange(bars_, 0);
  const bool is_builder = open == "\\{" && takes_set_builder();
  if (in_.take_sign(closing(open))) return make_node(open == "\\{" ? Kind::kSet : Kind::kTuple, "()");
  Node inside = list();
  bars_ = bars;
  const Token close = in_.next();
  if (open == "[" && close.sign("[")) {
    inside = interval_turned(std::move(inside), close);
    inside.text = "[)";
    return inside;
  }
  if (open == "(" && inside.kind == Kind::kNumber && in_.sign("_"))
    return number({TokenKind::kNumber, inside.text, false});
  if (!close.sign(")") && !close.sign("]") && !close.sign("\\}")) throw Unreadable("missing " + closing(open));
  const bool braces = open == "\\{";
  if (braces != close.sign("\\}")) throw Unreadable("brackets do not match");
  if (is_builder) return inside;
  const bool several = inside.kind == Kind::kList;
  if (braces)
    return make_node(Kind::kSet, "", several ? std::move(inside.arguments) : std::vector<Node>{std::move(inside)});
  return several ? make_node(Kind::kTuple, open + close.text, std::move(inside.arguments)) : inside;
}

/// Reads LaTeX's { ... }, which only groups.
Node Grammar::braces() {
  in_.expect("{");
  return rest_of_braces();
}

/// Reads the rest after "{", also {n \choose k}.
Node Grammar::rest_of_braces() {
  const int bars = std::exchange(bars_, 0);
  Node inside = list();
  if (in_.take_command("choose")) inside = make_node(Kind::kFunction, "binomial", {std::move(inside), list()});
  bars_ = bars;
  in_.expect("}");
  return inside;
}

/// Reads an argument of \frac or \binom: braces or one token; of a number only its first digit.
Node Grammar::fraction_argument() {
  if (in_.sign("{")) return braces();
  const Token token = in_.next_digit();
  if (token.kind == TokenKind::kNumber) return make_node(Kind::kNumber, token.text);
  if (token.kind == TokenKind::kLetter) return symbol(token.text);
  if (token.kind == TokenKind::kCommand) return command(token.text);
  if (token.sign("(")) return bracketed("(");
  throw Unreadable("\\frac without its arguments");
}

Node Grammar::root() {
  Node degree = make_node(Kind::kNumber, "2");
  if (in_.take_sign("[")) {
    degree = sum();
    in_.expect("]");
  }
  Node inside = fraction_argument();
  if (degree.text == "2" && degree.kind == Kind::kNumber)
    return make_node(Kind::kFunction, "sqrt", {std::move(inside)});
  return make_node(Kind::kFunction, "root", {std::move(inside), std::move(degree)});
}

std::vector<Node> Grammar::function_arguments() {
  if (in_.sign("(") || in_.sign("[") || in_.sign("\\{")) {
    Node inside = bracketed(in_.next().text);
    const bool several = inside.kind == Kind::kTuple || inside.kind == Kind::kSet;
    return several ? std::move(inside.arguments) : std::vector<Node>{std::move(inside)};
  }
  if (in_.sign("{")) {
    Node inside = braces();
    return inside.kind == Kind::kList ? std::move(inside.arguments) : std::vector<Node>{std::move(inside)};
  }
  if (in_.take_sign("-")) return {make_node(Kind::kNegate, "", {factors(true)})};
  return {factors(true)};
}

/// Reads \sin x, \sin^2 x, \sin^{-1} x, \log_2 8.
Node Grammar::function(const std::string& name) {
  Node base, power;
  bool has_base = false, has_power = false;
  while (in_.sign("_") || in_.sign("^")) {
    const bool below = in_.next().text == "_";
    (below ? base : power) = script();
    (below ? has_base : has_power) = true;
  }
  Node node = make_node(Kind::kFunction, name, function_arguments());
  if (kAngleFunctions.contains(name)) node = in_radians(node);
  if (has_base) node.arguments.push_back(std::move(base));
  if (has_base && name != "log") node.kind = Kind::kCall;
  if (!has_power) return node;
  const bool inverse = power.kind == Kind::kNegate && power.arguments[0].text == "1" && name.size() == 3;
  if (inverse) {
    node.text = "arc" + name;
    return node;
  }
  return make_node(Kind::kPower, "", {std::move(node), std::move(power)});
}

Node determinant(const Node& matrix) {
  constexpr size_t kMost = 4;
  const size_t n = matrix.columns;
  if (n == 0 || n > kMost || n * n != matrix.arguments.size()) throw Unreadable("no determinant");
  if (n == 1) return matrix.arguments[0];
  Node sum = make_node(Kind::kNumber, "0");
  for (size_t column = 0; column < n; ++column) {
    Node term = make_node(Kind::kMultiply, "", {matrix.arguments[column], determinant(matrix_minor(matrix, column))});
    if (column % 2 == 1) term = make_node(Kind::kNegate, "", {std::move(term)});
    sum = make_node(Kind::kAdd, "", {std::move(sum), std::move(term)});
  }
  return sum;
}

/// Reads a matrix environment: brackets and parentheses mean the same, single bars the determinant, double bars a norm.
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

/// Reads a cell and any comma, semicolon or period after it.
Node Grammar::cell() {
  Node node = relation();
  while (in_.sign(",") || in_.sign(";") || in_.sign(".")) in_.next();
  return node;
}

}  // namespace roll::math
