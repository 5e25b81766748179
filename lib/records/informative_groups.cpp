#include "records/informative_groups.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

namespace roll {

namespace {

GroupSummary summarise_group(int64_t group, const std::vector<size_t>& members,
                             const std::vector<ScoredResponse>& responses) {
  GroupSummary summary{.group = group, .best = members.front(), .worst = members.front(), .members = members};
  double sum = 0, squares = 0;
  for (const size_t index : members) {
    const double score = responses[index].score;
    sum += score;
    if (score > responses[summary.best].score) summary.best = index;
    if (score < responses[summary.worst].score) summary.worst = index;
  }
  const auto count = static_cast<double>(members.size());
  summary.mean = sum / count;
  for (const size_t index : members) squares += std::pow(responses[index].score - summary.mean, 2);
  // Equal scores have spread 0, even if the mean was rounded.
  const bool agrees = responses[summary.best].score == responses[summary.worst].score;
  summary.spread = agrees ? 0 : std::sqrt(squares / count);
  return summary;
}

}  // namespace

std::vector<GroupSummary> summarise_groups(const std::vector<ScoredResponse>& responses) {
  std::map<int64_t, std::vector<size_t>> members_by_group;
  for (size_t index = 0; index < responses.size(); ++index)
    if (responses[index].is_judged) members_by_group[responses[index].group].push_back(index);
  std::vector<GroupSummary> groups;
  for (const auto& [group, members] : members_by_group) groups.push_back(summarise_group(group, members, responses));
  return groups;
}

InformativeGroups informative_groups(const std::vector<GroupSummary>& groups) {
  InformativeGroups informative;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].mean > groups[informative.best].mean) informative.best = i;
    if (groups[i].mean < groups[informative.worst].mean) informative.worst = i;
    if (groups[i].spread > 0) informative.mixed.push_back(i);
  }
  std::ranges::stable_sort(informative.mixed, std::greater(), [&](size_t i) { return groups[i].spread; });
  return informative;
}

std::vector<int64_t> informative_responses(const std::vector<ScoredResponse>& responses, int64_t count) {
  const std::vector<GroupSummary> groups = summarise_groups(responses);
  if (groups.empty()) return {};
  const InformativeGroups informative = informative_groups(groups);
  std::vector<size_t> wanted;
  for (const size_t i : informative.mixed) {
    wanted.push_back(groups[i].best);
    wanted.push_back(groups[i].worst);
  }
  const auto behind_first_pair = wanted.begin() + std::min<std::ptrdiff_t>(2, std::ssize(wanted));
  wanted.insert(behind_first_pair, {groups[informative.best].best, groups[informative.worst].worst});
  std::set<int64_t> chosen;
  for (const size_t index : wanted)
    if (std::ssize(chosen) < count) chosen.insert(static_cast<int64_t>(index));
  return {chosen.begin(), chosen.end()};
}

}  // namespace roll
