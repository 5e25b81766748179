// Linear in the vocabulary, without sorting: exponentials once, then selections that halve what is left.
#include "rollout/row_sampling.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "ops/simd.h"

namespace roll {

namespace {

constexpr int64_t kBlock = 1024;  // tokens that the inverse CDF skips at once

/// exp(x) for x <= 0 with a relative error below 2e-7 (Cephes' expf polynomial); 0 below -87. Without calls and
/// branches, so that a loop over it becomes SIMD code: std::exp would take most of the sampler's time.
ROLL_INLINE float exp_negative(float x) {
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
  const auto exponent = std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(kRound) + 127;
  const float value = y * std::bit_cast<float>(exponent << 23);
  return x < -87.0f ? 0.0f : value;
}

ROLL_SIMD float largest(const float* values, int64_t n) {
  float best = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : best)
  for (int64_t i = 0; i < n; ++i) best = values[i] > best ? values[i] : best;
  return best;
}

/// p[i] = exp((logits[i] - max) * scale); returns their sum.
ROLL_SIMD double exponentiate_block(const float* logits, float* p, int64_t n, float max, float scale) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) p[i] = exp_negative((logits[i] - max) * scale);
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(p[i]);
  return sum;
}

bool is_greedy(const GeneratingArgs& args) {
  return args.temperature == 0 || args.top_k == 1;
}

double temperature_of(const GeneratingArgs& args) {
  return args.temperature == 0 ? 1.0 : args.temperature;
}

}  // namespace

TokenHistory::TokenHistory(const GeneratingArgs& args, std::span<const int64_t> prompt_ids)
    : is_kept_(args.repetition_penalty != 1 || args.presence_penalty != 0 || args.frequency_penalty != 0) {
  if (!is_kept_) return;
  for (const int64_t token : prompt_ids) counts_.emplace(token, 0);
}

void TokenHistory::add(int64_t token) {
  if (is_kept_) ++counts_[token];
}

void TokenHistory::apply(const GeneratingArgs& args, std::span<float> logits) const {
  const auto repetition = static_cast<float>(args.repetition_penalty);
  for (const auto& [token, count] : counts_) {
    float& logit = logits[token];
    logit = logit < 0 ? logit * repetition : logit / repetition;
    if (count > 0)
      logit -= static_cast<float>(static_cast<double>(count) * args.frequency_penalty + args.presence_penalty);
  }
}

void RowSampler::exponentiate(std::span<const float> logits) {
  const auto n = static_cast<int64_t>(logits.size());
  const auto scale = static_cast<float>(1.0 / temperature_of(*args_));
  max_ = largest(logits.data(), n);
  p_.resize(n);
  block_sums_.clear();
  total_ = 0;
  for (int64_t start = 0; start < n; start += kBlock) {
    block_sums_.push_back(exponentiate_block(&logits[start], &p_[start], std::min(kBlock, n - start), max_, scale));
    total_ += block_sums_.back();
  }
  if (!std::isfinite(total_))
    throw SystemError("the model's logits are not finite numbers: its weights have diverged or are damaged");
}

Draw RowSampler::draw(std::span<const float> logits, const GeneratingArgs& args, const TokenHistory& history,
                      double uniform) {
  args_ = &args;
  exponentiate(logits);
  const double log_total = std::log(total_) + static_cast<double>(max_) / temperature_of(*args_);
  std::span<const float> row = logits;
  if (!history.empty()) {
    penalised_.assign(logits.begin(), logits.end());
    history.apply(*args_, penalised_);
    row = penalised_;
    exponentiate(row);
  }
  Draw draw;
  if (is_greedy(*args_))
    draw.token = std::find(row.begin(), row.end(), max_) - row.begin();
  else if (is_filtered())
    draw.token = pick_from_candidates(row, uniform);
  else
    draw.token = pick_from_all(uniform);
  draw.log_prob = static_cast<float>(static_cast<double>(logits[draw.token]) / temperature_of(*args_) - log_total);
  return draw;
}

bool RowSampler::is_filtered() const {
  return (args_->top_k > 0 && args_->top_k < static_cast<int64_t>(p_.size())) || args_->top_p < 1 || args_->min_p > 0;
}

int64_t RowSampler::pick_from_all(double uniform) const {
  double left = uniform * total_;
  size_t block = 0;
  while (block + 1 < block_sums_.size() && left >= block_sums_[block]) left -= block_sums_[block++];
  const int64_t first = static_cast<int64_t>(block) * kBlock;
  const int64_t end = std::min(first + kBlock, static_cast<int64_t>(p_.size()));
  int64_t token = -1;
  // The last token with any probability stands in where rounding lets `left` outlive the block.
  for (int64_t i = first; i < end; ++i) {
    if (p_[i] == 0) continue;
    token = i;
    left -= static_cast<double>(p_[i]);
    if (left < 0) break;
  }
  // A block of zeros is only reached past the end of the distribution.
  return token >= 0 ? token : std::max_element(p_.begin(), p_.end()) - p_.begin();
}

int64_t RowSampler::pick_from_candidates(std::span<const float> logits, double uniform) {
  const bool cuts_k = args_->top_k > 0 && args_->top_k < static_cast<int64_t>(p_.size());
  // Tokens below (1 - top_p) * total / V hold less than 1 - top_p together, so none of them is in the top_p set; half
  // of that leaves room for rounding.
  const double useless = 0.5 * (1 - args_->top_p) * total_ / static_cast<double>(p_.size());
  const double mass = cuts_k ? keep_top_k(logits) : keep_likely(args_->top_p < 1 ? useless : args_->min_p);
  if (args_->top_p < 1) keep_top_p(args_->top_p * mass);
  // The likeliest token has p = 1, so min_p needs no scaling.
  if (args_->min_p > 0) std::erase_if(candidates_, [&](const Candidate& c) { return c.p < args_->min_p; });
  double sum = 0;
  for (const Candidate& c : candidates_) sum += static_cast<double>(c.p);
  double left = uniform * sum;
  for (const Candidate& c : candidates_) {
    left -= static_cast<double>(c.p);
    if (left < 0) return c.token;
  }
  return std::min_element(candidates_.begin(), candidates_.end(), more_likely)->token;
}

double RowSampler::keep_top_k(std::span<const float> logits) {
  const float least = kth_largest(logits, static_cast<size_t>(args_->top_k));
  candidates_.clear();
  double mass = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] < least) continue;
    candidates_.push_back({static_cast<int32_t>(i), p_[i]});
    mass += static_cast<double>(p_[i]);
  }
  return mass;
}

double RowSampler::keep_likely(double least_p) {
  candidates_.clear();
  const auto least = static_cast<float>(least_p);
  for (size_t i = 0; i < p_.size(); ++i) {
    if (p_[i] >= least) candidates_.push_back({static_cast<int32_t>(i), p_[i]});
  }
  return total_;
}

/// Halves the range in which the last kept token must lie: linear time, where sorting would cost a log of V.
void RowSampler::keep_top_p(double mass) {
  order_ = candidates_;
  const auto begin = order_.begin();
  ptrdiff_t low = 0, high = std::ssize(order_);
  double before = 0;  // mass of [0, low), always less than `mass`
  while (high - low > 1) {
    const ptrdiff_t middle = low + (high - low) / 2;
    std::nth_element(begin + low, begin + middle, begin + high, more_likely);
    double half = 0;
    for (ptrdiff_t i = low; i < middle; ++i) half += static_cast<double>(order_[i].p);
    if (before + half >= mass) {
      high = middle;
    } else {
      before += half;
      low = middle;
    }
  }
  const Candidate last = order_[low];
  std::erase_if(candidates_, [&](const Candidate& c) { return more_likely(last, c); });
}

/// Keeps up to 2k values above the best threshold so far, and cuts them back to k when full: one cheap comparison for
/// almost every value.
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
