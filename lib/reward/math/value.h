// Numbers with two representations, for evaluate.h and equal_expressions.h:
//   approximate  a complex long double with a bound of its rounding error
//   exact        for rational values: the residue modulo the prime 2^61 - 1. It distinguishes numbers of any size:
//                2^{2015} + 1 and 2^{2015} differ. With it, polynomials are compared exactly, at random points
//                (Schwartz 1980, Zippel 1979)
// Two numbers are equal if they agree in every representation that both have.
#pragma once

#include <complex>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace roll::math {

using Real = long double;
using Complex = std::complex<Real>;

struct Value {
  Complex z;              // the approximate value
  Real error = 0;         // bound of |z - true value|
  uint64_t residue = 0;   // the exact value modulo 2^61 - 1; undefined unless `exact`
  bool exact = true;      // true: `residue` is valid
  bool constant = true;   // the expression has no free symbol
  bool branch = false;    // a function was outside its real domain, so z is one of several possible values
  bool infinite = false;  // the symbol \infty itself, not an overflow

  /// Returns whether z is finite and accurate to 1e-6, absolutely or relatively.
  bool known() const {
    return std::isfinite(z.real()) && std::isfinite(z.imag()) && error <= 1e-6L * (1 + std::abs(z));
  }
  /// Returns whether the imaginary part of z is 0.
  bool real() const { return z.imag() == 0; }
  /// Returns the value if it is a constant integer within +-9e15; else nullopt.
  std::optional<int64_t> integer() const;
};

Value integer_value(int64_t n);
/// Returns the value of a number's text, such as "12.5" or "0.1(6)", whose digits in brackets repeat. `base`: the
/// digits' base, 2 to 10; other bases than 10 need a text of digits only.
Value number_value(std::string_view digits, int base = 10);

Value operator+(const Value& a, const Value& b);
Value operator-(const Value& a);
Value operator*(const Value& a, const Value& b);
Value operator/(const Value& a, const Value& b);
/// Returns a^b; 0^0 is 1.
Value power(const Value& a, const Value& b);

/// Returns f(a), without a residue; its error bound comes from a difference quotient of f.
Value numeric_function(const Value& a, const std::function<Complex(Complex)>& f);

/// Return n! (gamma(n + 1) if n is not an integer >= 0), n!!, and n over k.
Value factorial(const Value& n);
Value double_factorial(const Value& n);
Value binomial(const Value& n, const Value& k);

/// Returns a 64-bit hash of `text` and `seed` (FNV-1a, then mixed), for values of symbols that look random but are the
/// same in every run.
uint64_t hash_text(std::string_view text, uint64_t seed);
/// Convert a hash to a nonzero residue, and to a real number in [0, 1).
uint64_t hash_residue(uint64_t hash);
Real hash_unit(uint64_t hash);

/// Returns whether both are equal in every representation that both have; false if they have none in common.
bool same_value(const Value& a, const Value& b);

}  // namespace roll::math
