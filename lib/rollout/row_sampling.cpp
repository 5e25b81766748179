#include "rollout/row_sampling.h"

#include <cmath>
#include <limits>

namespace roll {

namespace {

/// Returns the smallest float >= x.
float float_not_below(double x) {
  const auto nearest = static_cast<float>(x);
  return static_cast<double>(nearest) < x ? std::nextafter(nearest, std::numeric_limits<float>::infinity()) : nearest;
}

bool counts_tokens(const SamplingSettings& args) {
  return args.repetition_penalty != 1 || args.presence_penalty != 0 || args.frequency_penalty != 0;
}

}  // namespace

RowSampling row_sampling(const SamplingSettings& args) {
  return {.inverse_temperature = args.temperature == 0 ? 1.0 : 1.0 / args.temperature,
          .top_p = args.top_p,
          .presence = args.presence_penalty,
          .frequency = args.frequency_penalty,
          .top_k = args.top_k > 0 ? args.top_k : 0,
          .repetition = static_cast<float>(args.repetition_penalty),
          .least_p = float_not_below(args.min_p),
          .is_greedy = args.temperature == 0 || args.top_k == 1,
          .is_counting = counts_tokens(args)};
}

TokenHistory::TokenHistory(const SamplingSettings& args, std::span<const int64_t> prompt_ids)
    : is_counting_(counts_tokens(args)) {
  for (const auto& [token, bias] : args.logit_bias) entry(token).bias = static_cast<float>(bias);
  if (!is_counting_) return;
  for (const int64_t token : prompt_ids) entry(token).count = 0;
}

void TokenHistory::add(int64_t token) {
  if (!is_counting_) return;
  TouchedToken& touched = entry(token);
  touched.count = next_count(touched.count);
}

TouchedToken& TokenHistory::entry(int64_t token) {
  const auto [found, is_new] = indices_.try_emplace(token, touched_.size());
  if (is_new) touched_.push_back({.token = static_cast<int32_t>(token)});
  return touched_[found->second];
}

}  // namespace roll
