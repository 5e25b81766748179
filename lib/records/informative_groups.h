// Chooses the groups and responses of a step that are shown: best, worst and those that disagree. A function of facts
// that every rank has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace roll {

/// What the choice needs of a response.
struct ScoredResponse {
  int64_t group = 0;
  double score = 0;
  bool is_judged = true;  // false: it is passed over
};

/// A group with a judged response. Places are among the responses that were given; the first one wins a tie.
struct GroupSummary {
  int64_t group = 0;
  double mean = 0, spread = 0;   // spread: standard deviation, 0 where all agree
  size_t best = 0, worst = 0;    // places
  std::vector<size_t> places{};  // of its judged responses
};
std::vector<GroupSummary> group_scores(const std::vector<ScoredResponse>& responses);

/// Indices of the chosen groups; the first one wins a tie.
struct InformativeGroups {
  size_t best = 0, worst = 0;   // highest and lowest mean
  std::vector<size_t> mixed{};  // that disagree, widest spread first
};
/// `groups` must not be empty.
InformativeGroups informative_groups(const std::vector<GroupSummary>& groups);

/// Places of at most `count` responses: best and worst one of the group that disagrees most, best one of the best
/// group, worst one of the worst group, then pairs of the next groups that disagree. Ascending.
std::vector<int64_t> informative_responses(const std::vector<ScoredResponse>& responses, int64_t count);

}  // namespace roll
