// Chooses the groups (responses to one prompt) and responses of a step that `roll report` and samples show: the best,
// the worst, and those with the most different scores. Deterministic, so that every rank makes the same choice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace roll {

/// A response to choose from.
struct ScoredResponse {
  int64_t group = 0;      // number of its group in the step
  double score = 0;       // higher is better
  bool is_judged = true;  // false: the response is ignored
};

/// Summary of a group with at least one judged response. Responses are given by their index in the argument of
/// summarise_groups(). Among equal scores, the first response counts as best or worst.
struct GroupSummary {
  int64_t group = 0;
  double mean = 0;                // mean score of the judged responses
  double spread = 0;              // population standard deviation of the scores; exactly 0 if all are equal
  size_t best = 0, worst = 0;     // index of the response with the highest, the lowest score
  std::vector<size_t> members{};  // indices of the judged responses
};
/// Returns a summary of each group with a judged response, ordered by group.
std::vector<GroupSummary> summarise_groups(const std::vector<ScoredResponse>& responses);

/// Groups, given by their index in the argument of informative_groups(). Among equal groups, the first counts.
struct InformativeGroups {
  size_t best = 0, worst = 0;   // group with the highest, the lowest mean
  std::vector<size_t> mixed{};  // groups with different scores, the largest spread first; may be empty
};
/// Returns the groups to show. `groups` must not be empty.
InformativeGroups informative_groups(const std::vector<GroupSummary>& groups);

/// Returns the indices of at most `count` judged responses, ascending. It chooses them in this order, each once:
///   1. best and worst response of the group with the largest spread
///   2. best response of the best group, worst response of the worst group
///   3. best and worst response of the group with the next largest spread, and so on
std::vector<int64_t> informative_responses(const std::vector<ScoredResponse>& responses, int64_t count);

}  // namespace roll
