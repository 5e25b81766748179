// One walk over the tree. Arithmetic uses Value, which also stays exact. Functions are numeric; on the real line they
// use the real library, so that rounding leaves no imaginary part.
#include "reward/math/evaluate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numbers>
#include <numeric>

namespace roll::math {

namespace {

constexpr Real kPi = std::numbers::pi_v<Real>;

Complex real_or(Complex z, bool in_domain, Real (*f)(Real), Complex otherwise) {
  return z.imag() == 0 && in_domain ? Complex(f(z.real())) : otherwise;
}

using ComplexFunction = Complex (*)(Complex);

Complex complex_log(Complex z) {
  return z == Complex(0) ? Complex(NAN) : real_or(z, z.real() > 0, std::log, std::log(z));
}
Complex complex_asin(Complex z) {
  return real_or(z, std::abs(z.real()) <= 1, std::asin, std::asin(z));
}
Complex complex_acos(Complex z) {
  return real_or(z, std::abs(z.real()) <= 1, std::acos, std::acos(z));
}
Complex complex_sin(Complex z) {
  return real_or(z, true, std::sin, std::sin(z));
}
Complex complex_cos(Complex z) {
  return real_or(z, true, std::cos, std::cos(z));
}
Complex complex_atan(Complex z) {
  return real_or(z, true, std::atan, std::atan(z));
}

const std::map<std::string, ComplexFunction, std::less<>> kOneArgument = {
    {"sin", complex_sin},
    {"cos", complex_cos},
    {"tan", [](Complex z) { return real_or(z, true, std::tan, std::tan(z)); }},
    {"cot", [](Complex z) { return complex_cos(z) / complex_sin(z); }},
    {"sec", [](Complex z) { return Complex(1) / complex_cos(z); }},
    {"csc", [](Complex z) { return Complex(1) / complex_sin(z); }},
    {"arcsin", complex_asin},
    {"arccos", complex_acos},
    {"arctan", complex_atan},
    {"arccot", [](Complex z) { return complex_atan(Complex(1) / z); }},
    {"arcsec", [](Complex z) { return complex_acos(Complex(1) / z); }},
    {"arccsc", [](Complex z) { return complex_asin(Complex(1) / z); }},
    {"sinh", [](Complex z) { return real_or(z, true, std::sinh, std::sinh(z)); }},
    {"cosh", [](Complex z) { return real_or(z, true, std::cosh, std::cosh(z)); }},
    {"tanh", [](Complex z) { return real_or(z, true, std::tanh, std::tanh(z)); }},
    {"coth", [](Complex z) { return Complex(1) / std::tanh(z); }},
    {"sech", [](Complex z) { return Complex(1) / std::cosh(z); }},
    {"csch", [](Complex z) { return Complex(1) / std::sinh(z); }},
    {"arsinh", [](Complex z) { return real_or(z, true, std::asinh, std::asinh(z)); }},
    {"arcosh", [](Complex z) { return real_or(z, z.real() >= 1, std::acosh, std::acosh(z)); }},
    {"artanh", [](Complex z) { return real_or(z, std::abs(z.real()) < 1, std::atanh, std::atanh(z)); }},
    {"arcsinh", [](Complex z) { return real_or(z, true, std::asinh, std::asinh(z)); }},
    {"arccosh", [](Complex z) { return real_or(z, z.real() >= 1, std::acosh, std::acosh(z)); }},
    {"arctanh", [](Complex z) { return real_or(z, std::abs(z.real()) < 1, std::atanh, std::atanh(z)); }},
    {"ln", complex_log},
    {"lg", [](Complex z) { return complex_log(z) / std::log(Real{10}); }},
    {"cis", [](Complex z) { return std::exp(Complex(0, 1) * z); }},
    {"exp", [](Complex z) { return real_or(z, true, std::exp, std::exp(z)); }},
    {"floor", [](Complex z) { return z.imag() == 0 ? Complex(std::floor(z.real() + 1e-12L)) : Complex(NAN); }},
    {"ceil", [](Complex z) { return z.imag() == 0 ? Complex(std::ceil(z.real() - 1e-12L)) : Complex(NAN); }},
    {"sgn",
     [](Complex z) {
       return z.imag() == 0 ? Complex(static_cast<Real>(z.real() > 0) - static_cast<Real>(z.real() < 0)) : Complex(NAN);
     }},
    {"Re", [](Complex z) { return Complex(z.real()); }},
    {"Im", [](Complex z) { return Complex(z.imag()); }},
    {"arg", [](Complex z) { return Complex(std::arg(z)); }},
    {"Arg", [](Complex z) { return Complex(std::arg(z)); }},
};

class Evaluator {
 public:
  Evaluator(const Point& point, Deadline& deadline) : point_(point), deadline_(deadline) {}

  Value evaluate_node(const Node& node) {
    deadline_.check();
    if (++count_ > kMaxNodes) throw Unreadable("too large");
    const auto& a = node.arguments;
    switch (node.kind) {
      case Kind::kNumber:
        return number_value(node.text);
      case Kind::kBased:
        return based(node);
      case Kind::kSymbol:
        return symbol(node.text);
      case Kind::kAdd:
        return evaluate_node(a[0]) + evaluate_node(a[1]);
      case Kind::kMultiply:
        return evaluate_node(a[0]) * evaluate_node(a[1]);
      case Kind::kDivide:
        return evaluate_node(a[0]) / evaluate_node(a[1]);
      case Kind::kPower:
        return raised(a[0], a[1]);
      case Kind::kNegate:
        return -evaluate_node(a[0]);
      case Kind::kDegrees:  // unit dropped: angles of functions were converted to radians before
        return evaluate_node(a[0]);
      case Kind::kPercent:
        return evaluate_node(a[0]) / integer_value(100);
      case Kind::kFunction:
        return function(node);
      case Kind::kCall:
        return unknown(node);
      default:
        throw Unreadable("not a number");
    }
  }

 private:
  Value based(const Node& node) {
    const int base = std::stoi(node.arguments[0].text);
    const bool fits = base >= 2 && base <= 10 && node.text.find('.') == std::string::npos &&
                      std::all_of(node.text.begin(), node.text.end(), [&](char c) { return c - '0' < base; });
    if (!fits) throw Unreadable("not a number of its base");
    return number_value(node.text, base);
  }

  /// Uses exp for e^x, and power for everything else.
  Value raised(const Node& base, const Node& exponent) {
    if (base.kind == Kind::kSymbol && base.text == "e")
      return numeric_function(evaluate_node(exponent), kOneArgument.at("exp"));
    return power(evaluate_node(base), evaluate_node(exponent));
  }

  static Value constant(Complex z) {
    Value v;
    v.z = z;
    v.error = 1e-19L * std::abs(z);
    v.exact = false;
    return v;
  }

  Value symbol(const std::string& name) {
    if (name == "e") return constant(std::numbers::e_v<Real>);
    if (name == "\\pi") return constant(kPi);
    if (name == "i" || name == "\\imath") return constant(Complex(0, 1));
    if (name == "\\infty") {
      Value v = constant(std::numeric_limits<Real>::infinity());
      v.infinite = true;
      return v;
    }
    return sampled(name);
  }

  Value sampled(const std::string& name) {
    const uint64_t hash = hash_text(name, static_cast<uint64_t>(point_.index));
    Value v;
    v.constant = false;
    v.residue = hash_residue(hash);
    const Real unit = hash_unit(hash_text(name, static_cast<uint64_t>(point_.index) + 1000));
    const bool negative = point_.index >= 4 && hash % 2 == 0;
    const Real real = (0.3L + 2.5L * unit) * (negative ? -1 : 1);
    v.z = point_.index % 2 == 0 ? real : 1 + std::floor(unit * 9);
    return v;
  }

  Value function(const Node& node) {
    std::vector<Value> x;
    for (const Node& argument : node.arguments) x.push_back(evaluate_node(argument));
    if (x.size() == 1) return one_argument(node, x[0]);
    if (node.text == "log" && x.size() == 2) return logarithm(x[0], x[1]);
    if (node.text == "root" && x.size() == 2) return root(x[0], x[1]);
    if (node.text == "binomial" && x.size() == 2) return binomial(x[0], x[1]);
    if (node.text == "min" || node.text == "max") return extreme(x, node.text == "max");
    if (node.text == "gcd" || node.text == "lcm") return divisors(node, x);
    return smooth(node.text, x);
  }

  Value one_argument(const Node& node, const Value& x) {
    const std::string& name = node.text;
    if (name == "sqrt") return root(x, integer_value(2));
    if (name == "factorial") return factorial(x);
    if (name == "double_factorial") return double_factorial(x);
    if (name == "Gamma") return factorial(x + integer_value(-1));
    if (name == "abs") return absolute(x);
    if (name == "log") return numeric_function(x, kOneArgument.at(point_.log_is_10 ? "lg" : "ln"));
    const auto known = kOneArgument.find(name);
    return known == kOneArgument.end() ? smooth(name, {x}) : numeric_function(x, known->second);
  }

  static Value absolute(const Value& x) {
    if (x.exact && x.constant && x.real() && x.known()) return x.z.real() < 0 ? -x : x;
    return numeric_function(x, [](Complex z) { return Complex(std::abs(z)); });
  }

  static Value logarithm(const Value& x, const Value& base) {
    return numeric_function(x, complex_log) / numeric_function(base, complex_log);
  }

  /// Returns the real root if there is one (also odd roots of negative numbers), else the principal one.
  static Value root(const Value& x, const Value& degree) {
    const auto n = degree.integer();
    if (n && *n % 2 != 0 && x.real() && x.z.real() < 0) return -root(-x, degree);
    return power(x, integer_value(1) / degree);
  }

  static Value extreme(const std::vector<Value>& x, bool largest) {
    const bool reals = std::all_of(x.begin(), x.end(), [](const Value& v) { return v.real(); });
    if (!reals || x.empty()) throw Unreadable("extreme of complex numbers");
    Value best = x[0];
    for (const Value& v : x)
      if ((v.z.real() > best.z.real()) == largest) best = v;
    best.exact = best.exact && best.constant;
    return best;
  }

  /// Returns gcd or lcm of constant integers; for other arguments the value of an unknown symmetric function.
  static Value divisors(const Node& node, const std::vector<Value>& x) {
    int64_t result = node.text == "gcd" ? 0 : 1;
    for (const Value& v : x) {
      const auto n = v.integer();
      if (!n || std::abs(*n) > 1'000'000'000 || std::abs(result) > 1'000'000'000) return smooth_symmetric(node.text, x);
      result = node.text == "gcd" ? std::gcd(result, *n) : std::lcm(result, *n);
    }
    return integer_value(result);
  }

  static Value smooth_symmetric(const std::string& name, const std::vector<Value>& x) {
    Value sum = integer_value(0), product = integer_value(1);
    for (const Value& v : x) {
      sum = sum + v;
      product = product * v;
    }
    return smooth(name, {sum, product});
  }

  Value unknown(const Node& node) {
    std::vector<Value> x;
    for (const Node& argument : node.arguments) x.push_back(evaluate_node(argument));
    return smooth("call " + node.text, x);
  }

  /// Returns an arbitrary value that depends only on name and arguments; smooth, because arguments are rounded.
  static Value smooth(const std::string& name, const std::vector<Value>& x) {
    Value r = integer_value(0);
    r.z = 1 + hash_unit(hash_text(name, 1));
    uint64_t residue = hash_text(name, 2);
    for (size_t i = 0; i < x.size(); ++i) {
      const Real a = 1 + hash_unit(hash_text(name, 3 + 2 * i)), b = 1 + hash_unit(hash_text(name, 4 + 2 * i));
      r.z += b * x[i].z / (Real{1} + Real{0.1} * x[i].z * x[i].z) + a * x[i].z + std::sin(a * x[i].z.real() + b);
      r.error += 20 * x[i].error + 1e-18L * (1 + std::abs(r.z));
      residue = hash_text(std::to_string(x[i].residue), residue);
      r.exact = r.exact && x[i].exact;
      r.branch = r.branch || x[i].branch;
    }
    r.residue = hash_residue(residue);
    r.constant = false;
    return r;
  }

  Point point_;
  Deadline& deadline_;
  int count_ = 0;
};

}  // namespace

Value evaluate(const Node& node, const Point& point, Deadline& deadline) {
  return Evaluator(point, deadline).evaluate_node(node);
}

bool is_decimal(const Node& node) {
  if (node.kind == Kind::kNegate || node.kind == Kind::kPercent || node.kind == Kind::kDegrees)
    return is_decimal(node.arguments[0]);
  return node.kind == Kind::kNumber && node.text.find('.') != std::string::npos &&
         node.text.find('(') == std::string::npos;
}

}  // namespace roll::math
