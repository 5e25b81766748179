// One number, known in two ways at once:
//   approximately  a complex long double with a bound of its rounding error
//   exactly        its residue modulo the prime 2^61 - 1, while it is rational; no size limit, so 2^{2015} + 1 and
//                  2^{2015} differ, and polynomials are compared exactly at random points (Schwartz 1980, Zippel 1979)
// Two numbers are equal when both agree as far as both are known.
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
  uint64_t residue = 0;  // of a rational value, if exact
  bool exact = true;
  bool constant = true;   // holds no free symbol
  bool branch = false;    // a real argument left the function's real domain: principal values, not to be relied upon
  bool infinite = false;  // \infty itself, no overflow

  bool known() const {
    return std::isfinite(z.real()) && std::isfinite(z.imag()) && error <= 1e-6L * (1 + std::abs(z));
  }
  bool real() const { return z.imag() == 0; }
  /// The value as an integer, if it is a constant integer below 2^53.
  std::optional<int64_t> integer() const;
};

Value integer_value(int64_t n);
/// `digits`: decimal digits with at most one '.', and behind it perhaps those that repeat, as "0.1(6)"; `base` 2..36
/// for digits without '.'.
Value number_value(std::string_view digits, int base = 10);

Value operator+(const Value& a, const Value& b);
Value operator-(const Value& a);
Value operator*(const Value& a, const Value& b);
Value operator/(const Value& a, const Value& b);
Value power(const Value& a, const Value& b);

/// f(a), numerically; the error bound comes from a difference quotient.
Value numeric_function(const Value& a, const std::function<Complex(Complex)>& f);

/// n! (or the gamma function at n + 1), n!!, binomial coefficients.
Value factorial(const Value& n);
Value double_factorial(const Value& n);
Value binomial(const Value& n, const Value& k);

/// A 64-bit hash (FNV-1a, then mixed) for what must look random but be the same in every run.
uint64_t hash_text(std::string_view text, uint64_t seed);
/// `hash` as a residue, and as a real number in [0, 1).
uint64_t hash_residue(uint64_t hash);
Real hash_unit(uint64_t hash);

/// Equal as far as both are known; false when neither way decides.
bool same_value(const Value& a, const Value& b);

}  // namespace roll::math
