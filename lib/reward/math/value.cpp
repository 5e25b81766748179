// Every operation updates both representations. The error bound grows by the operands' errors and one rounding. The
// residue is computed modulo the prime, and dropped (exact = false) if the result is not rational.
#include "reward/math/value.h"

#include <cmath>
#include <limits>

namespace roll::math {

namespace {

constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;
constexpr Real kEpsilon = std::numeric_limits<Real>::epsilon();
constexpr int64_t kMaxFactorial = 5000;

uint64_t add_mod(uint64_t a, uint64_t b) {
  return (a + b) % kPrime;
}
uint64_t multiply_mod(uint64_t a, uint64_t b) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b % kPrime);
}
uint64_t power_mod(uint64_t a, uint64_t n) {
  uint64_t result = 1;
  for (; n > 0; n >>= 1, a = multiply_mod(a, a))
    if (n & 1) result = multiply_mod(result, a);
  return result;
}
uint64_t inverse_mod(uint64_t a) {
  return power_mod(a, kPrime - 2);
}

/// Combines the flags of two operands; callers set z, error and residue.
Value combine(const Value& a, const Value& b) {
  Value r;
  r.exact = a.exact && b.exact;
  r.constant = a.constant && b.constant;
  r.branch = a.branch || b.branch;
  return r;
}

Complex integer_power(Complex base, uint64_t n) {
  Complex result = 1;
  for (; n > 0; n >>= 1, base *= base)
    if (n & 1) result *= base;
  return result;
}

/// Returns a^b; exact for integer exponents (a real base stays real), 0^0 = 1.
Complex raise(Complex a, Complex b) {
  const bool integer = b.imag() == 0 && std::floor(b.real()) == b.real() && std::abs(b.real()) < 1e9L;
  if (a.imag() == 0 && b.imag() == 0 && (a.real() > 0 || integer)) return std::pow(a.real(), b.real());
  if (integer) {
    const Complex positive = integer_power(a, static_cast<uint64_t>(std::abs(b.real())));
    return b.real() < 0 ? Complex(1) / positive : positive;
  }
  if (a == Complex(0)) return b.real() > 0 ? Complex(0) : Complex(NAN);
  return std::pow(a, b);
}

Real gamma_plus_one(Real x) {
  return x >= 0 || std::floor(x) != x ? std::tgamma(x + 1) : NAN;
}

}  // namespace

std::optional<int64_t> Value::integer() const {
  const bool whole =
      constant && real() && std::abs(z.real()) < 9e15L && std::floor(z.real()) == z.real() && error < 1e-9L;
  return whole ? std::optional<int64_t>(static_cast<int64_t>(z.real())) : std::nullopt;
}

Value integer_value(int64_t n) {
  Value v;
  v.z = static_cast<Real>(n);
  v.residue = n >= 0 ? static_cast<uint64_t>(n) % kPrime : kPrime - static_cast<uint64_t>(-n) % kPrime;
  v.residue %= kPrime;
  return v;
}

Value number_value(std::string_view digits, int base) {
  if (const size_t open = digits.find('('); open != std::string_view::npos) {
    const std::string_view period = digits.substr(open + 1, digits.size() - open - 2);
    const size_t decimals = open - digits.find('.') - 1;
    const Value nines =
        power(integer_value(10), integer_value(static_cast<int64_t>(period.size()))) + integer_value(-1);
    const Value scale = power(integer_value(10), integer_value(static_cast<int64_t>(decimals)));
    return number_value(digits.substr(0, open)) + number_value(period) / (nines * scale);
  }
  Value v = integer_value(0);
  Value scale = integer_value(1);
  bool fraction = false;
  for (const char c : digits) {
    if (c == '.') {
      fraction = true;
      continue;
    }
    v.z = v.z * static_cast<Real>(base) + static_cast<Real>(c - '0');
    v.residue = add_mod(multiply_mod(v.residue, static_cast<uint64_t>(base)), static_cast<uint64_t>(c - '0'));
    if (!fraction) continue;
    scale.z *= base;
    scale.residue = multiply_mod(scale.residue, static_cast<uint64_t>(base));
  }
  v.error = std::abs(v.z) < 1e18L ? 0 : kEpsilon * std::abs(v.z) * static_cast<Real>(digits.size());
  return fraction ? v / scale : v;
}

Value operator+(const Value& a, const Value& b) {
  Value r = combine(a, b);
  r.z = a.z + b.z;
  r.error = a.error + b.error + kEpsilon * std::abs(r.z);
  r.residue = add_mod(a.residue, b.residue);
  r.infinite = a.infinite || b.infinite;
  return r;
}

Value operator-(const Value& a) {
  Value r = a;
  r.z = Complex(0) - a.z;  // no negative zero: the root of -4 is 2i
  r.residue = a.residue == 0 ? 0 : kPrime - a.residue;
  return r;
}

Value operator*(const Value& a, const Value& b) {
  Value r = combine(a, b);
  const bool reals = a.real() && b.real();
  r.z = reals ? Complex(a.z.real() * b.z.real()) : a.z * b.z;
  r.error = std::abs(a.z) * b.error + std::abs(b.z) * a.error + kEpsilon * std::abs(r.z);
  r.residue = multiply_mod(a.residue, b.residue);
  r.infinite = a.infinite || b.infinite;
  return r;
}

Value operator/(const Value& a, const Value& b) {
  Value r = combine(a, b);
  const bool reals = a.real() && b.real();
  r.z = reals ? Complex(a.z.real() / b.z.real()) : a.z / b.z;
  if (b.z == Complex(0)) r.z = NAN;
  const Real size = std::abs(b.z);
  r.error = a.error / size + std::abs(r.z) * b.error / size + kEpsilon * std::abs(r.z);
  r.exact = r.exact && b.residue != 0;
  r.residue = r.exact ? multiply_mod(a.residue, inverse_mod(b.residue)) : 0;
  return r;
}

Value power(const Value& a, const Value& b) {
  Value r = combine(a, b);
  r.z = raise(a.z, b.z);
  const Complex moved = raise(a.z + a.error, b.z + b.error);
  const Real exponent = std::abs(b.z) * (1 + std::abs(std::log(std::abs(a.z) + 1e-300L)));
  r.error = kEpsilon * std::abs(r.z) * (1 + exponent);
  if (a.error > 0 || b.error > 0) r.error += std::abs(moved - r.z);
  r.branch = r.branch || (a.real() && b.real() && !r.real());
  const auto n = b.integer();
  r.exact = a.exact && b.exact && n && (*n >= 0 || a.residue != 0);
  if (!r.exact) return r;
  r.residue = power_mod(a.residue, static_cast<uint64_t>(std::abs(*n)));
  if (*n < 0) r.residue = inverse_mod(r.residue);
  return r;
}

Value numeric_function(const Value& a, const std::function<Complex(Complex)>& f) {
  Value r = a;
  r.z = f(a.z);
  r.error = 4 * kEpsilon * std::abs(r.z) + (a.error > 0 ? std::abs(f(a.z + a.error) - r.z) : 0);
  r.branch = a.branch || (a.real() && !r.real());
  r.exact = false;
  return r;
}

Value factorial(const Value& n) {
  const auto whole = n.integer();
  if (!whole || *whole < 0 || *whole > kMaxFactorial) {
    return numeric_function(n,
                            [](Complex z) { return z.imag() == 0 ? Complex(gamma_plus_one(z.real())) : Complex(NAN); });
  }
  Value r = integer_value(1);
  for (int64_t i = 2; i <= *whole; ++i) r = r * integer_value(i);
  return r;
}

Value double_factorial(const Value& n) {
  const auto whole = n.integer();
  Value r = integer_value(1);
  if (!whole || *whole < 0 || *whole > kMaxFactorial) {
    r.z = NAN;
    r.exact = false;
    return r;
  }
  for (int64_t i = *whole; i > 1; i -= 2) r = r * integer_value(i);
  return r;
}

Value binomial(const Value& n, const Value& k) {
  const auto below = k.integer();
  if (!below || *below < 0 || *below > kMaxFactorial) return factorial(n) / (factorial(k) * factorial(n + -k));
  Value r = integer_value(1);
  for (int64_t i = 0; i < *below; ++i) r = r * (n + integer_value(-i)) / integer_value(i + 1);
  return r;
}

uint64_t hash_text(std::string_view text, uint64_t seed) {
  uint64_t h = 0xcbf29ce484222325u ^ seed * 0x9e3779b97f4a7c15u;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  h = (h ^ h >> 31) * 0x7fb5d329728ea185u;
  h = (h ^ h >> 27) * 0x81dadef4bc2dd44du;
  return h ^ h >> 33;
}

uint64_t hash_residue(uint64_t hash) {
  return hash % (kPrime - 2) + 1;
}

Real hash_unit(uint64_t hash) {
  return static_cast<Real>(hash >> 11) / static_cast<Real>(uint64_t{1} << 53);
}

bool same_value(const Value& a, const Value& b) {
  if (a.infinite || b.infinite) return a.infinite && b.infinite && (a.z.real() > 0) == (b.z.real() > 0);
  const bool exact = a.exact && b.exact;
  if (exact && a.residue != b.residue) return false;
  if (!a.known() || !b.known()) return exact && !std::isnan(a.z.real()) && !std::isnan(b.z.real());
  return std::abs(a.z - b.z) <= 256 * (a.error + b.error) + 16 * kEpsilon * (std::abs(a.z) + std::abs(b.z));
}

}  // namespace roll::math
