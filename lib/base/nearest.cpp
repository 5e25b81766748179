#include "base/nearest.h"

#include <fmt/format.h>

#include <algorithm>

namespace roll {

namespace {

/// Optimal string alignment distance: insert, delete, replace, swap of neighbours.
size_t distance(std::string_view a, std::string_view b) {
  const size_t width = b.size() + 1;
  std::vector<size_t> cells((a.size() + 1) * width);
  const auto cell = [&](size_t i, size_t j) -> size_t& { return cells[i * width + j]; };
  for (size_t i = 0; i <= a.size(); ++i) cell(i, 0) = i;
  for (size_t j = 0; j <= b.size(); ++j) cell(0, j) = j;
  for (size_t i = 1; i <= a.size(); ++i)
    for (size_t j = 1; j <= b.size(); ++j) {
      cell(i, j) = std::min({cell(i - 1, j) + 1, cell(i, j - 1) + 1, cell(i - 1, j - 1) + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        cell(i, j) = std::min(cell(i, j), cell(i - 2, j - 2) + 1);
    }
  return cell(a.size(), b.size());
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string lower = lower_ascii(word);
  std::string best;
  size_t best_distance = word.size() + 1000;
  for (const auto& candidate : candidates) {
    const auto [shorter, longer] = std::minmax({word.size(), candidate.size()});
    // In a short word most letters must match.
    const size_t limit = word.size() < 5 ? word.size() / 3 : std::max<size_t>(2, longer / 3);
    if (longer - shorter > limit) continue;
    const size_t candidate_distance = distance(lower, lower_ascii(candidate));
    if (candidate_distance > limit || candidate_distance >= best_distance) continue;
    best = candidate;
    best_distance = candidate_distance;
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string best = nearest(word, candidates);
  return best.empty() ? best : fmt::format("; did you mean '{}'?", best);
}

std::string lower_ascii(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

}  // namespace roll
