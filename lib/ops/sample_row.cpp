// Time is linear in the vocabulary, without sorting: exponentials once, then selections that halve the candidates.
// Compiled with -ffp-contract=off (CMakeLists.txt), as sampling_math.h requires.
#include "ops/sample_row.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "base/error.h"
#include "ops/simd.h"

namespace roll {

namespace {

constexpr int64_t kBlock = 1024;  // tokens that the inverse CDF skips at once

ROLL_SIMD float largest(const float* values, int64_t n) {
  float best = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : best)
  for (int64_t i = 0; i < n; ++i) best = values[i] > best ? values[i] : best;
  return best;
}

/// Writes p[i] = exp((logits[i] - max) * scale); returns their mass. Sets `is_bad` for NaN logits or an infinite max.
ROLL_SIMD uint64_t exponentiate_block(const float* logits, float* p, int64_t n, float max, float scale, bool& is_bad) {
  uint32_t bad = 0;
#pragma omp simd reduction(| : bad)
  for (int64_t i = 0; i < n; ++i) {
    const float below = logits[i] - max;
    bad |= below <= 0 ? 0u : 1u;
    p[i] = exp_negative(below * scale);
  }
  is_bad |= bad != 0;
  uint64_t sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += probability_mass(p[i]);
  return sum;
}

}  // namespace

void RowSampler::exponentiate(std::span<const float> logits) {
  const auto n = static_cast<int64_t>(logits.size());
  const auto scale = static_cast<float>(sampling_->inverse_temperature);
  max_ = largest(logits.data(), n);
  p_.resize(n);
  block_masses_.clear();
  total_ = 0;
  bool is_bad = false;
  for (int64_t start = 0; start < n; start += kBlock) {
    block_masses_.push_back(
        exponentiate_block(&logits[start], &p_[start], std::min(kBlock, n - start), max_, scale, is_bad));
    total_ += block_masses_.back();
  }
  if (is_bad) throw SystemError("the model's logits are not finite numbers: its weights have diverged or are damaged");
}

DrawnToken RowSampler::draw(std::span<const float> logits, const RowSampling& sampling,
                            std::span<const TouchedToken> touched, uint64_t bits, std::span<const uint32_t> allowed) {
  sampling_ = &sampling;
  exponentiate(logits);
  const float raw_max = max_;
  const uint64_t raw_total = total_;
  std::span<const float> row = logits;
  if (!touched.empty() || !allowed.empty()) {
    changed_.assign(logits.begin(), logits.end());
    for (const TouchedToken& token : touched)
      changed_[token.token] = touched_logit(changed_[token.token], token, sampling);
    for (size_t i = 0; !allowed.empty() && i < changed_.size(); ++i)
      if (!(allowed[i / 32] >> (i % 32) & 1)) changed_[i] = -std::numeric_limits<float>::infinity();
    row = changed_;
    exponentiate(row);
  }
  Pick pick{.token = std::find(row.begin(), row.end(), max_) - row.begin()};
  if (!sampling.is_greedy) pick = is_filtered() ? pick_from_candidates(row, bits) : pick_from_all(bits);
  return {.token = static_cast<int32_t>(pick.token),
          .log_prob = sampled_log_prob(logits[pick.token], raw_max, sampling, raw_total),
          .processed_log_prob = sampling.is_greedy ? 0 : sampled_log_prob(row[pick.token], max_, sampling, pick.all)};
}

bool RowSampler::is_filtered() const {
  return (sampling_->top_k > 0 && sampling_->top_k < std::ssize(p_)) || sampling_->top_p < 1 || sampling_->least_p > 0;
}

RowSampler::Pick RowSampler::pick_from_all(uint64_t bits) const {
  uint64_t left = draw_target(bits, total_);  // below total_, so the search ends at a token
  int64_t block = 0;
  while (left >= block_masses_[block]) left -= block_masses_[block++];
  int64_t token = block * kBlock;
  for (uint64_t mass = probability_mass(p_[token]); left >= mass; mass = probability_mass(p_[token])) {
    left -= mass;
    ++token;
  }
  return {token, total_};
}

RowSampler::Pick RowSampler::pick_from_candidates(std::span<const float> logits, uint64_t bits) {
  const auto size = std::ssize(p_);
  const bool cuts_k = sampling_->top_k > 0 && sampling_->top_k < size, cuts_p = sampling_->top_p < 1;
  // All tokens whose mass is at most 1/V of the mass outside top_p can be dropped at once.
  const uint64_t useless = (total_ - needed_mass(sampling_->top_p, total_)) / static_cast<uint64_t>(size);
  const uint64_t mass = cuts_k   ? keep_top_k(logits)
                        : cuts_p ? keep_likely((static_cast<double>(useless) - 1) * 0x1p-40)
                                 : keep_likely(static_cast<double>(sampling_->least_p));
  if (cuts_p) keep_top_p(needed_mass(sampling_->top_p, mass));
  // The most likely token has p = 1, so min_p needs no scaling.
  std::erase_if(candidates_, [&](const Candidate& c) { return c.p < sampling_->least_p; });
  uint64_t all = 0;
  for (const Candidate& c : candidates_) all += probability_mass(c.p);
  uint64_t left = draw_target(bits, all);
  auto found = candidates_.begin();
  for (uint64_t candidate_mass = probability_mass(found->p); left >= candidate_mass;
       candidate_mass = probability_mass(found->p)) {
    left -= candidate_mass;
    ++found;
  }
  return {found->token, all};
}

uint64_t RowSampler::keep_top_k(std::span<const float> logits) {
  const float least = kth_largest(logits, static_cast<size_t>(sampling_->top_k));
  candidates_.clear();
  uint64_t mass = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] < least) continue;
    candidates_.push_back({static_cast<int32_t>(i), p_[i]});
    mass += probability_mass(p_[i]);
  }
  return mass;
}

uint64_t RowSampler::keep_likely(double least_p) {
  candidates_.clear();
  for (size_t i = 0; i < p_.size(); ++i) {
    if (static_cast<double>(p_[i]) >= least_p) candidates_.push_back({static_cast<int32_t>(i), p_[i]});
  }
  return total_;
}

/// Halves the range that contains the last kept token, in linear time; sorting would cost a factor log V.
void RowSampler::keep_top_p(uint64_t needed) {
  order_ = candidates_;
  const auto begin = order_.begin();
  ptrdiff_t low = 0, high = std::ssize(order_);
  uint64_t before = 0;  // mass of [0, low), always less than `needed`
  while (high - low > 1) {
    const ptrdiff_t middle = low + (high - low) / 2;
    std::nth_element(begin + low, begin + middle, begin + high, more_likely);
    uint64_t half = 0;
    for (ptrdiff_t i = low; i < middle; ++i) half += probability_mass(order_[i].p);
    if (before + half >= needed) {
      high = middle;
    } else {
      before += half;
      low = middle;
    }
  }
  const Candidate last = order_[low];
  std::erase_if(candidates_, [&](const Candidate& c) { return more_likely(last, c); });
}

/// Returns the k-th largest value. Collects up to 2k values above the best threshold so far and cuts them back to k
/// when full, so almost every value costs one comparison.
float RowSampler::kth_largest(std::span<const float> values, size_t k) {
  float threshold = -std::numeric_limits<float>::infinity();
  largest_.clear();
  const auto cut = [&] {
    std::nth_element(largest_.begin(), largest_.begin() + static_cast<ptrdiff_t>(k) - 1, largest_.end(),
                     std::greater<>());
    largest_.resize(k);
    threshold = largest_.back();
  };
  for (const float value : values) {
    if (!(value > threshold)) continue;
    largest_.push_back(value);
    if (largest_.size() == 2 * k) cut();
  }
  if (largest_.size() >= k) cut();
  return threshold;
}

}  // namespace roll
