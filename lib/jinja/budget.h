// Limits the cost of rendering a template. Code that reads or makes values pays for the bytes it touches, which bounds
// time and memory together.
#pragma once

#include <cstddef>

namespace roll::jinja {

/// Budget in bytes of a rendering on this thread, from construction to destruction.
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

/// Minimum cost, in bytes of text, of an expression, of a loop over a value, or of making a value.
constexpr size_t kStepBytes = 50;
/// Minimum cost of looking at the name of a variable or member.
constexpr size_t kEntryBytes = 8;

/// Pays for `bytes`; call it before the work. Throws Failure if the budget is used up. Counts nothing if the thread has
/// no Budget.
void charge(size_t bytes);

}  // namespace roll::jinja
