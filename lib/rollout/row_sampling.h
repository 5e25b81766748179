// One token out of one row of logits. Pure functions on floats: no tensors, no state but scratch memory.
//
// Order, as Hugging Face applies them: repetition penalty, frequency and presence penalty, temperature, top_k, top_p,
// min_p; then one uniform number picks by inverse CDF in the order of token ids.
//   repetition   every token of prompt and response: logit / p where positive, logit * p where negative
//   frequency    every token of the response: logit -= count * penalty;  presence: logit -= penalty
//   top_k        tokens whose logit is at least the k-th largest (ties stay)
//   top_p        the fewest tokens, most likely first (ties: the smaller id first), whose probability reaches top_p
//   min_p        tokens with at least min_p x the largest probability
// Legend: V vocabulary.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "rollout/config.h"

namespace roll {

struct Draw {
  int64_t token = 0;
  /// nats: log_softmax(logits / temperature)[token] of the row as it came; temperature 0 counts as 1
  float log_prob = 0;
};

/// The tokens of one sequence, as penalties need them. Costs nothing while no penalty is on.
class TokenHistory {
 public:
  TokenHistory() = default;
  TokenHistory(const GeneratingArgs& args, std::span<const int64_t> prompt_ids);
  void add(int64_t token);

  /// Takes the penalties off `logits`.
  void apply(const GeneratingArgs& args, std::span<float> logits) const;
  bool empty() const { return counts_.empty(); }

 private:
  bool is_kept_ = false;
  std::unordered_map<int64_t, int64_t> counts_;  // token -> times in the response; 0: only in the prompt
};

/// Draws tokens; keeps scratch memory, so one object per thread.
class RowSampler {
 public:
  /// logits: [V] float32. `uniform` in [0, 1). Greedy (the first largest logit) when temperature is 0 or top_k is 1.
  /// SystemError when no logit is finite or one is NaN or +infinity.
  Draw draw(std::span<const float> logits, const GeneratingArgs& args, const TokenHistory& history, double uniform);

 private:
  struct Candidate {
    int32_t token;
    float p;
  };

  static bool more_likely(const Candidate& a, const Candidate& b) {
    return a.p > b.p || (a.p == b.p && a.token < b.token);
  }
  void exponentiate(std::span<const float> logits);
  bool is_filtered() const;
  int64_t pick_from_all(double uniform) const;
  int64_t pick_from_candidates(std::span<const float> logits, double uniform);
  double keep_top_k(std::span<const float> logits);
  double keep_likely(double least_p);
  void keep_top_p(double mass);
  float kth_largest(std::span<const float> values, size_t k);

  const GeneratingArgs* args_ = nullptr;  // of the call
  std::vector<float> penalised_;          // [V], only with penalties
  std::vector<float> p_;                  // [V]: exp((logit - max_) / temperature)
  std::vector<double> block_sums_;        // of p_, kBlock each
  std::vector<Candidate> candidates_;     // in the order of token ids
  std::vector<Candidate> order_;
  std::vector<float> largest_;
  float max_ = 0;
  double total_ = 0;  // of p_
};

}  // namespace roll
