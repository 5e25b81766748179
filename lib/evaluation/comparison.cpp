#include "evaluation/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace roll {

namespace {

double right_share(const PromptSum& right) {
  return right.sum / static_cast<double>(right.count);
}

}  // namespace

std::optional<Comparison> compare(const JudgedPrompts& before, const JudgedPrompts& after) {
  const auto is_same = [](const auto& a, const auto& b) {
    return a.first == b.first && a.second.ground_truth == b.second.ground_truth;
  };
  if (!std::ranges::equal(before, after, is_same)) return std::nullopt;
  Comparison comparison;
  std::vector<double> differences;
  for (const auto& [id, prompt] : before) {
    const double difference = right_share(after.at(id).right) - right_share(prompt.right);
    ++(difference > 0 ? comparison.better : difference < 0 ? comparison.worse : comparison.same);
    differences.push_back(difference);
  }
  const auto estimate = estimate_mean(differences);
  if (!estimate) return std::nullopt;
  comparison.difference = *estimate;
  return comparison;
}

std::string to_text(const Comparison& comparison, const std::string& before, const std::string& after) {
  const Estimate& difference = comparison.difference;
  const std::string error = difference.standard_error ? fmt::format(" ± {:.4f}", *difference.standard_error) : "";
  return fmt::format("{} - {}: {:+.4f}{} over {} prompts: {} better, {} worse, {} the same", after, before,
                     difference.mean, error, comparison.better + comparison.worse + comparison.same, comparison.better,
                     comparison.worse, comparison.same);
}

}  // namespace roll
