// Limits the cost of rendering a Jinja template: Template::render() makes a Budget, and all code that reads or makes
// values calls charge() with their bytes. This bounds time and memory together.
#pragma once

#include <cstddef>

namespace roll::jinja {

/// Budget in bytes for all charge() calls of this thread, from construction to destruction. If budgets are nested, only
/// the innermost counts.
class Budget {
 public:
  explicit Budget(size_t max_bytes);
  ~Budget();
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

 private:
  friend void charge(size_t bytes);
  Budget* outer_;
  size_t bytes_left_;
  size_t max_bytes_;
};

/// Minimum cost, in bytes, of an expression, of a loop over a value, or of making a value.
constexpr size_t kStepBytes = 50;
/// Minimum cost, in bytes, of comparing with the name of a variable or member.
constexpr size_t kEntryBytes = 8;

/// Takes `bytes` from the thread's Budget; call it before the work. Throws Failure (value.h) if too few are left. Does
/// nothing if the thread has no Budget.
void charge(size_t bytes);

}  // namespace roll::jinja
