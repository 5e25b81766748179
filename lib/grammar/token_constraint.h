// Interface of constraints on the tokens of a response, such as a grammar. The sampler calls begin() for each response,
// then allowed() before each draw and accept() after it. Responses without a constraint cost nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace roll {

/// One response under a constraint; must not outlive the constraint. Not thread-safe.
class ConstraintState {
 public:
  virtual ~ConstraintState() = default;
  /// Returns the tokens that may come next, as bits: bit t % 32 (0: lowest) of word t / 32 is set if token t may come.
  /// The span has a bit for every token of the vocabulary; at least one is set. Once the response can only
  /// end, the allowed tokens are those that end a response. The span is valid until accept().
  virtual std::span<const uint32_t> allowed() = 0;
  /// Appends a sampled token, which must be allowed, to the response.
  virtual void accept(int64_t token) = 0;
};

/// A constraint, shared by all responses that use it.
class TokenConstraint {
 public:
  virtual ~TokenConstraint() = default;
  /// Returns the state of a new, empty response. Thread-safe.
  virtual std::unique_ptr<ConstraintState> begin() const = 0;
  /// Returns the memory that the constraint takes, in bytes, for limits on all constraints together.
  virtual size_t num_bytes() const = 0;
};

}  // namespace roll
