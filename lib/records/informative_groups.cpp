#include "records/informative_groups.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

namespace roll {

namespace {

GroupSummary scores_of(int64_t group, const std::vector<size_t>& places, const std::vector<ScoredResponse>& responses) {
  GroupSummary scores{.group = group, .best = places.front(), .worst = places.front(), .places = places};
  double sum = 0, squares = 0;
  for (const size_t place : places) {
    const double score = responses[place].score;
    sum += score;
    if (score > responses[scores.best].score) scores.best = place;
    if (score < responses[scores.worst].score) scores.worst = place;
  }
  const auto count = static_cast<double>(places.size());
  scores.mean = sum / count;
  for (const size_t place : places) squares += std::pow(responses[place].score - scores.mean, 2);
  // Equal scores have spread 0, even if the mean was rounded.
  const bool agrees = responses[scores.best].score == responses[scores.worst].score;
  scores.spread = agrees ? 0 : std::sqrt(squares / count);
  return scores;
}

}  // namespace

std::vector<GroupSummary> group_scores(const std::vector<ScoredResponse>& responses) {
  std::map<int64_t, std::vector<size_t>> places_of;
  for (size_t place = 0; place < responses.size(); ++place)
    if (responses[place].is_judged) places_of[responses[place].group].push_back(place);
  std::vector<GroupSummary> groups;
  for (const auto& [group, places] : places_of) groups.push_back(scores_of(group, places, responses));
  return groups;
}

InformativeGroups informative_groups(const std::vector<GroupSummary>& groups) {
  InformativeGroups telling;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].mean > groups[telling.best].mean) telling.best = i;
    if (groups[i].mean < groups[telling.worst].mean) telling.worst = i;
    if (groups[i].spread > 0) telling.mixed.push_back(i);
  }
  std::ranges::stable_sort(telling.mixed, std::greater(), [&](size_t i) { return groups[i].spread; });
  return telling;
}

std::vector<int64_t> informative_responses(const std::vector<ScoredResponse>& responses, int64_t count) {
  const std::vector<GroupSummary> groups = group_scores(responses);
  if (groups.empty()) return {};
  const InformativeGroups telling = informative_groups(groups);
  std::vector<size_t> wanted;
  for (const size_t i : telling.mixed) {
    wanted.push_back(groups[i].best);
    wanted.push_back(groups[i].worst);
  }
  const auto behind_first_pair = wanted.begin() + std::min<std::ptrdiff_t>(2, std::ssize(wanted));
  wanted.insert(behind_first_pair, {groups[telling.best].best, groups[telling.worst].worst});
  std::set<int64_t> chosen;
  for (const size_t place : wanted)
    if (std::ssize(chosen) < count) chosen.insert(static_cast<int64_t>(place));
  return {chosen.begin(), chosen.end()};
}

}  // namespace roll
