// Which tokens may come next in a response that must have a form. The sampler asks before each draw and tells what was
// drawn; a response without a constraint costs nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace roll {

/// One response on its way through a constraint.
class ConstraintState {
 public:
  virtual ~ConstraintState() = default;
  /// A bit per token of the vocabulary, in words of 32, the lowest bit first. At least one is set. Valid until
  /// accept().
  virtual std::span<const uint32_t> allowed() = 0;
  virtual void accept(int64_t token) = 0;
};

class TokenConstraint {
 public:
  virtual ~TokenConstraint() = default;
  /// Any thread.
  virtual std::unique_ptr<ConstraintState> begin() const = 0;
  virtual size_t num_bytes() const = 0;
};

}  // namespace roll
