// Samples one token from a row of logits on the CPU. cuda/sample_rows.h draws the same tokens on a GPU, and
// cuda/sampling_math.h defines the sampling. No state but scratch memory. Legend: V vocabulary.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cuda/sampling_math.h"

namespace roll {

/// Draws tokens. It keeps scratch memory, so each thread needs its own.
class RowSampler {
 public:
  /// Draws a token from logits [V] float32. `touched`: tokens whose logits penalties or biases change, each once.
  /// `bits`: 53 random bits. `allowed`: a bit mask of the tokens that may be drawn, in words of 32 tokens; empty: all.
  /// SystemError: no logit is finite, or one is NaN or +infinity.
  DrawnToken draw(std::span<const float> logits, const RowSampling& sampling, std::span<const TouchedToken> touched,
                  uint64_t bits, std::span<const uint32_t> allowed = {});

 private:
  struct Candidate {
    int32_t token;
    float p;
  };
  struct Pick {
    int64_t token = 0;
    uint64_t all = 0;  // total mass of the candidates
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

  const RowSampling* sampling_ = nullptr;  // argument of the current draw()
  std::vector<float> changed_;             // [V]: logits after penalties, biases and `allowed`, if any
  std::vector<float> p_;                   // [V]: exp((logit - max_) / temperature)
  std::vector<uint64_t> block_masses_;     // mass of each kBlock elements of p_
  std::vector<Candidate> candidates_;      // ordered by token id
  std::vector<Candidate> order_;
  std::vector<float> largest_;
  float max_ = 0;
  uint64_t total_ = 0;  // mass of p_
};

}  // namespace roll
