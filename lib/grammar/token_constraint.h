// Interface that limits which tokens may come next in a response. The sampler calls allowed() before each draw and
// accept() after it; responses without a constraint cost nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace roll {

/// Progress of one response through a constraint.
class ConstraintState {
 public:
  virtual ~ConstraintState() = default;
  /// Returns one bit per token of the vocabulary, in 32-bit words, lowest bit first. At least one bit is set. Valid
  /// until accept().
  virtual std::span<const uint32_t> allowed() = 0;
  /// Advances by a sampled token.
  virtual void accept(int64_t token) = 0;
};

class TokenConstraint {
 public:
  virtual ~TokenConstraint() = default;
  /// Starts a response. Thread-safe.
  virtual std::unique_ptr<ConstraintState> begin() const = 0;
  /// Returns the memory of the compiled grammar.
  virtual size_t num_bytes() const = 0;
};

}  // namespace roll
