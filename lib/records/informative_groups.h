// Chooses the groups and responses of a step to show: the best, the worst and the most mixed. Deterministic, so that
// every rank makes the same choice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace roll {

/// Input of the choice, per response.
struct ScoredResponse {
  int64_t group = 0;
  double score = 0;
  bool is_judged = true;  // false: the response is ignored
};

/// Summary of a group with at least one judged response. Indices refer to the response list; ties go to the first.
struct GroupSummary {
  int64_t group = 0;
  double mean = 0, spread = 0;    // spread: population standard deviation; 0 if all scores agree
  size_t best = 0, worst = 0;     // indices of responses
  std::vector<size_t> members{};  // indices of the judged responses
};
/// Returns a summary per group with a judged response, ordered by group.
std::vector<GroupSummary> summarise_groups(const std::vector<ScoredResponse>& responses);

/// Indices into the list of groups; ties go to the first.
struct InformativeGroups {
  size_t best = 0, worst = 0;   // highest and lowest mean
  std::vector<size_t> mixed{};  // groups with different scores, widest spread first
};
/// `groups` must not be empty.
InformativeGroups informative_groups(const std::vector<GroupSummary>& groups);

/// Returns the indices of at most `count` responses, ascending. Priority: best and worst response of the most mixed
/// group, best response of the best group, worst of the worst group, then pairs of the next mixed groups.
std::vector<int64_t> informative_responses(const std::vector<ScoredResponse>& responses, int64_t count);

}  // namespace roll
