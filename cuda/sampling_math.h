// Sampling arithmetic shared by CPU and CUDA, so that both draw the same token from the same logits. Both compile it
// without fused multiply-add contraction. Probabilities are float32 relative to the most likely token; sums are over
// integers, so that order does not matter. CPU: ops/sample_row.h, GPU: sample_rows.h.
//
// Order, as Hugging Face and vLLM apply them: logit bias, repetition penalty, frequency and presence penalty,
// temperature, top_k, top_p, min_p; then random bits pick by inverse CDF in the order of token ids.
//   bias         logit += bias
//   repetition   every token of prompt and response: logit / penalty if positive, logit * penalty if negative
//   frequency    every token of the response: logit -= count * penalty, with its number of occurrences there
//   presence     every token of the response: logit -= penalty
//   top_k        tokens whose logit is at least the k-th largest (ties stay)
//   top_p        the fewest tokens, most likely first (ties: the smaller id first), whose probability reaches top_p
//   min_p        tokens with at least min_p x the largest probability
#pragma once

#include <cmath>

#include "base/host_device.h"

namespace roll {

/// Sampling parameters of a sequence, and so of each row of logits that it draws from.
struct RowSampling {
  double inverse_temperature = 1;
  double top_p = 1;                    // 1: off
  double presence = 0, frequency = 0;  // penalties; 0: off
  int64_t top_k = 0;                   // 0: off
  float repetition = 1;                // penalty; 1: off
  float least_p = 0;                   // min_p, rounded up to a float; 0: off
  uint32_t is_greedy = 0;              // 1: takes the token with the largest logit; of several, the smallest id
  uint32_t is_counting = 0;            // 1: penalties are on, so drawn tokens must be counted
};

/// Count and bias of a touched token of a sequence: its logit has a bias, or penalties read its count.
struct TouchedToken {
  int32_t token = 0;
  int32_t count = -1;  // occurrences in the response; 0: only in the prompt; -1: in neither
  float bias = 0;
};

/// Result of a draw.
struct DrawnToken {
  int32_t token = 0;             // -1: nothing was drawn, because a logit is NaN or +infinity
  float log_prob = 0;            // nats: log_softmax(raw logits / temperature)[token]; temperature 0 counts as 1 here
  float processed_log_prob = 0;  // nats: in the distribution drawn from, after bias, penalties and filters; greedy: 0
};

/// Returns the logit of a touched token after bias and penalties.
ROLL_HOST_DEVICE float touched_logit(float logit, const TouchedToken& touched, const RowSampling& sampling) {
  logit += touched.bias;
  if (touched.count >= 0) logit = logit < 0 ? logit * sampling.repetition : logit / sampling.repetition;
  if (touched.count > 0)
    logit -= static_cast<float>(static_cast<double>(touched.count) * sampling.frequency + sampling.presence);
  return logit;
}

/// Returns exp(x) for x <= 0 with a relative error below 2e-7 (Cephes' expf polynomial); 0 below -87. It has no calls
/// and branches, so that loops vectorize: std::exp would take most of the sampler's time.
ROLL_HOST_DEVICE float exp_negative(float x) {
  constexpr float kRound = 12582912.0f;  // 1.5 x 2^23: adding it rounds to an integer in the low bits
  const float bounded = x < -87.0f ? -87.0f : x;
  const float shifted = bounded * 1.44269504088896341f + kRound;
  const float n = shifted - kRound;
  const float r = bounded - n * 0.693359375f + n * 2.12194440e-4f;
  float y = 1.9875691500e-4f;
  y = y * r + 1.3981999507e-3f;
  y = y * r + 8.3334519073e-3f;
  y = y * r + 4.1665795894e-2f;
  y = y * r + 1.6666665459e-1f;
  y = y * r + 5.0000001201e-1f;
  y = y * r * r + r + 1.0f;
  const uint32_t exponent = float_bits(shifted) - 0x4B400000u + 127;  // minus the bits of kRound
  const float value = y * float_from_bits(exponent << 23);
  return x < -87.0f ? 0.0f : value;
}

/// Probability mass of the most likely token; a mass is a relative probability x 2^40, as an integer. 2^22 such masses
/// (the largest vocabulary) fit in 64 bits.
constexpr uint64_t kFullMass = uint64_t{1} << 40;

/// Returns the mass p x 2^40, for p in [0, 1].
ROLL_HOST_DEVICE uint64_t probability_mass(float p) {
  // In [2^12, 2^13), a double's last bit is worth 2^-40. Unlike a conversion, the addition vectorizes on every CPU.
  const double shifted = static_cast<double>(p) + 0x1p12;
  uint64_t bits;
  memcpy(&bits, &shifted, sizeof bits);
  return bits - (uint64_t{1023 + 12} << 52);
}

/// Returns log(mass x 2^-40), the log of a sum of probabilities.
ROLL_HOST_DEVICE double log_of_mass(uint64_t mass) {
  return log(static_cast<double>(mass) * 0x1p-40);
}

/// Returns the log-prob (nats) of a token: (logit - top) / temperature - log_of_mass(all). top: the row's largest
/// logit; all: total mass of the distribution's tokens, where a token with logit `top` has kFullMass.
ROLL_HOST_DEVICE float sampled_log_prob(float logit, float top, const RowSampling& sampling, uint64_t all) {
  const double below = static_cast<double>(logit) - static_cast<double>(top);
  return static_cast<float>(below * sampling.inverse_temperature - log_of_mass(all));
}

/// Returns the top_p cutoff: the mass that the kept tokens must reach. all: total mass; the result is in [1, all].
ROLL_HOST_DEVICE uint64_t needed_mass(double top_p, uint64_t all) {
  const auto needed = static_cast<uint64_t>(ceil(top_p * static_cast<double>(all)));
  return needed < 1 ? 1 : needed > all ? all : needed;
}

/// Scales 53 random bits to an integer in [0, all). The drawn token is the first whose cumulative mass exceeds this
/// integer.
ROLL_HOST_DEVICE uint64_t draw_target(uint64_t bits, uint64_t all) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>(static_cast<Wide>(bits) * all >> 53);
}

/// Maps floats to unsigned integers of the same order; 0 and -0 map to the same one.
ROLL_HOST_DEVICE uint32_t ordered_key(float x) {
  const uint32_t bits = float_bits(x + 0.0f);
  return bits >> 31 ? ~bits : bits | 0x80000000u;
}

/// Returns TouchedToken::count after one more occurrence in the response.
ROLL_HOST_DEVICE int32_t next_count(int32_t count) {
  return count < 0 ? 1 : count + 1;
}

}  // namespace roll
