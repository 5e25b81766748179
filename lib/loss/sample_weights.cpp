#include "loss/sample_weights.h"

#include <algorithm>

#include "base/error.h"

namespace roll {

namespace {

double difficulty_weight(double difficulty, DifficultyRange range) {
  return 0.5 + 1.5 * std::clamp((difficulty - range.low) / (range.high - range.low), 0.0, 1.0);
}

double length_weight(int64_t length, int64_t shortest, int64_t longest) {
  return longest == shortest ? 1.5
                             : 1.5 - static_cast<double>(length - shortest) / static_cast<double>(longest - shortest);
}

}  // namespace

std::vector<float> sample_weights(const std::vector<double>& difficulties, const std::vector<int64_t>& valid_tokens,
                                  const LossSettings& settings) {
  if (!settings.weighs_sequences()) return {};
  ROLL_CHECK_EQ(difficulties.size(), valid_tokens.size(), "every sequence has a difficulty");
  int64_t shortest = INT64_MAX, longest = 0, num_valid = 0;
  for (const int64_t tokens : valid_tokens) {
    if (tokens == 0) continue;
    shortest = std::min(shortest, tokens);
    longest = std::max(longest, tokens);
    ++num_valid;
  }
  std::vector<double> weights(valid_tokens.size());
  double sum = 0;
  for (size_t b = 0; b < weights.size(); ++b) {
    if (valid_tokens[b] == 0) continue;
    weights[b] = settings.difficulty_weights ? difficulty_weight(difficulties[b], *settings.difficulty_weights) : 1;
    if (settings.length_weights) weights[b] *= length_weight(valid_tokens[b], shortest, longest);
    sum += weights[b];
  }
  std::vector<float> normalised;
  for (const double weight : weights)
    normalised.push_back(static_cast<float>(sum > 0 ? weight * static_cast<double>(num_valid) / sum : 0));
  return normalised;
}

}  // namespace roll
