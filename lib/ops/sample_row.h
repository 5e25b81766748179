// Draws the next token of a sequence from its logits on the CPU, for the sampler. cuda/sampling_math.h defines the
// sampling (penalties, temperature, top_k, top_p, min_p); cuda/sample_rows.h draws the same tokens on a GPU.
// Legend: V vocabulary.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cuda/sampling_math.h"

namespace roll {

/// Keeps only scratch memory between draws, so one object may draw for any sequences; each thread needs its own.
class RowSampler {
 public:
  /// Draws a token from the model's raw logits [V]. `touched`: the tokens whose logits penalties or biases change, each
  /// once. `bits`: a uniform 53-bit random number, the only source of randomness. `allowed`: bit i % 32 of word i / 32
  /// is 1 if token i may be drawn; empty: all may. Throws SystemError if no logit of an allowed token is finite, or if
  /// a logit is NaN or +infinity.
  DrawnToken draw(std::span<const float> logits, const RowSampling& sampling, std::span<const TouchedToken> touched,
                  uint64_t bits, std::span<const uint32_t> allowed = {});

 private:
  struct Candidate {
    int32_t token;
    float p;
  };
  // A mass is a probability relative to the most likely token's, as an integer: probability_mass(p).
  struct Pick {
    int64_t token = 0;
    uint64_t all = 0;  // total mass of the candidates, among which the token was drawn
  };

  static bool more_likely(const Candidate& a, const Candidate& b) {
    return a.p > b.p || (a.p == b.p && a.token < b.token);
  }
  /// Sets p_, block_masses_, max_ and total_.
  void exponentiate(std::span<const float> logits);
  /// Returns true if top_k, top_p or min_p is on.
  bool is_filtered() const;
  Pick pick_from_all(uint64_t bits) const;
  Pick pick_from_candidates(std::span<const float> logits, uint64_t bits);
  /// Set candidates_ to the top k tokens, or to those with p >= least_p. Return the mass to which top_p refers.
  uint64_t keep_top_k(std::span<const float> logits);
  uint64_t keep_likely(double least_p);
  /// Cuts candidates_ to the most likely ones, whose mass just reaches `needed`.
  void keep_top_p(uint64_t needed);
  float kth_largest(std::span<const float> values, size_t k);

  const RowSampling* sampling_ = nullptr;  // argument of the current draw()
  std::vector<float> changed_;             // [V]: logits after penalties, biases and `allowed`, if any
  std::vector<float> p_;                   // [V]: exp((logit - max_) / temperature)
  std::vector<uint64_t> block_masses_;     // mass of each kBlock elements of p_
  std::vector<Candidate> candidates_;      // ordered by token id
  std::vector<Candidate> order_;           // copy of candidates_, partly sorted
  std::vector<float> largest_;             // scratch of kth_largest()
  float max_ = 0;                          // largest logit
  uint64_t total_ = 0;                     // mass of p_
};

}  // namespace roll
