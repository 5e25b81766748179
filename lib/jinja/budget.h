// What rendering one template may cost. Whatever walks over or makes values pays here for the bytes that it touches, so
// that time and memory are bounded together, however the template comes by its large values.
#pragma once

#include <cstddef>

namespace roll::jinja {

/// The budget of the rendering that this thread does, in bytes: from construction to destruction.
class Budget {
 public:
  explicit Budget(size_t most);
  ~Budget();
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

 private:
  friend void charge(size_t bytes);
  Budget* outer_;
  size_t left_;
  size_t most_;
};

/// An expression, a loop over a value or the making of one costs at least as much as so many bytes of text.
constexpr size_t kStepBytes = 50;
/// What a look at the name of a variable or member costs at least.
constexpr size_t kEntryBytes = 8;

/// Pays for `bytes`, before the work is done. Throws Failure when the rendering has used up its budget; outside of one
/// nothing is counted.
void charge(size_t bytes);

}  // namespace roll::jinja
