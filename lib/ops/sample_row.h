// One token out of one row of logits on the CPU; cuda/sample_rows.h is the twin that draws the same on a GPU, and
// cuda/sampling_math.h what is drawn. Pure functions on floats: no state but scratch memory. Legend: V vocabulary.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cuda/sampling_math.h"

namespace roll {

/// Draws tokens; keeps scratch memory, so one object per thread.
class RowSampler {
 public:
  /// logits: [V] float32. `touched`: tokens whose logits penalties or biases change, each once. `bits`: 53 random ones.
  /// `allowed`: a bit per token, in words of 32; the others are not drawn. Empty: all are allowed.
  /// SystemError when no logit is finite or one is NaN or +infinity.
  DrawnToken draw(std::span<const float> logits, const RowSampling& sampling, std::span<const TouchedToken> touched,
                  uint64_t bits, std::span<const uint32_t> allowed = {});

 private:
  struct Candidate {
    int32_t token;
    float p;
  };
  struct Pick {
    int64_t token = 0;
    uint64_t all = 0;  // mass that it was picked from
  };

  static bool more_likely(const Candidate& a, const Candidate& b) {
    return a.p > b.p || (a.p == b.p && a.token < b.token);
  }
  void exponentiate(std::span<const float> logits);
  bool is_filtered() const;
  Pick pick_from_all(uint64_t bits) const;
  Pick pick_from_candidates(std::span<const float> logits, uint64_t bits);
  uint64_t keep_top_k(std::span<const float> logits);
  uint64_t keep_likely(double least_p);
  void keep_top_p(uint64_t needed);
  float kth_largest(std::span<const float> values, size_t k);

  const RowSampling* sampling_ = nullptr;  // of the call
  std::vector<float> changed_;             // [V], only with touched tokens
  std::vector<float> p_;                   // [V]: exp((logit - max_) / temperature)
  std::vector<uint64_t> block_masses_;     // of p_, kBlock each
  std::vector<Candidate> candidates_;      // in the order of token ids
  std::vector<Candidate> order_;
  std::vector<float> largest_;
  float max_ = 0;
  uint64_t total_ = 0;  // of p_
};

}  // namespace roll
