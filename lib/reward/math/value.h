// A number with two representations, for equal_expressions.h:
//   approximate  a complex long double with a bound of its rounding error
//   exact        for rational values: the residue modulo the prime 2^61 - 1. It has no size limit: 2^{2015} + 1 and
//                2^{2015} differ. Polynomials are compared exactly, at random points (Schwartz 1980, Zippel 1979)
// Two numbers are equal if both representations agree, as far as both are known.
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
  Complex z;
  Real error = 0;        // bound of |z - true value|
  uint64_t residue = 0;  // residue modulo 2^61 - 1, if exact
  bool exact = true;
  bool constant = true;   // holds no free symbol
  bool branch = false;    // a real argument left the function's real domain: unreliable principal value
  bool infinite = false;  // \infty itself, not an overflow

  bool known() const {
    return std::isfinite(z.real()) && std::isfinite(z.imag()) && error <= 1e-6L * (1 + std::abs(z));
  }
  bool real() const { return z.imag() == 0; }
  /// Returns the value as an integer if it is a constant integer below 9e15; else nullopt.
  std::optional<int64_t> integer() const;
};

Value integer_value(int64_t n);
/// Parses `digits`: decimal digits with at most one '.', perhaps followed by repeating ones, as "0.1(6)". `base`:
/// 2..36, for digits without '.'.
Value number_value(std::string_view digits, int base = 10);

Value operator+(const Value& a, const Value& b);
Value operator-(const Value& a);
Value operator*(const Value& a, const Value& b);
Value operator/(const Value& a, const Value& b);
Value power(const Value& a, const Value& b);

/// Returns f(a), numerically; the error bound comes from a difference quotient.
Value numeric_function(const Value& a, const std::function<Complex(Complex)>& f);

/// Return n! (or gamma(n + 1)), n!!, binomial coefficients.
Value factorial(const Value& n);
Value double_factorial(const Value& n);
Value binomial(const Value& n, const Value& k);

/// Returns a 64-bit hash (FNV-1a, then mixed), for values that look random but are the same in every run.
uint64_t hash_text(std::string_view text, uint64_t seed);
/// Convert a hash to a residue, and to a real number in [0, 1).
uint64_t hash_residue(uint64_t hash);
Real hash_unit(uint64_t hash);

/// Returns whether both are equal, as far as both are known; false if neither representation decides.
bool same_value(const Value& a, const Value& b);

}  // namespace roll::math
