// Two small types of the shell interpreter: Scoped restores a member's value at the end of a scope; Truth is the value
// of a condition that may be known only at run time.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

namespace roll::shell {

/// Sets a member and restores its old value on destruction.
template <class T>
class Scoped {
 public:
  Scoped(T& member, T value) : member_(member), saved_(std::exchange(member, std::move(value))) {}
  ~Scoped() { member_ = std::move(saved_); }
  Scoped(const Scoped&) = delete;
  Scoped& operator=(const Scoped&) = delete;

 private:
  T& member_;
  T saved_;
};

/// Truth of a condition, or success of a command.
enum class Truth { kNo, kYes, kUnknown };

/// Returns kUnknown for nullopt.
inline Truth to_truth(std::optional<bool> is_true) {
  return !is_true ? Truth::kUnknown : *is_true ? Truth::kYes : Truth::kNo;
}
/// Returns kYes for numbers other than 0, as in (( )); kUnknown for nullopt.
inline Truth truth_of_number(std::optional<int64_t> number) {
  return to_truth(number ? std::optional(*number != 0) : std::nullopt);
}
// Three-valued logic: `and_` is kNo if one operand is, even if the other is unknown; `or_` is kYes if one is.
inline Truth not_(Truth a) {
  return a == Truth::kUnknown ? a : to_truth(a == Truth::kNo);
}
inline Truth and_(Truth a, Truth b) {
  return a == Truth::kNo || b == Truth::kNo ? Truth::kNo : a == Truth::kYes ? b : a;
}
inline Truth or_(Truth a, Truth b) {
  return not_(and_(not_(a), not_(b)));
}

}  // namespace roll::shell
