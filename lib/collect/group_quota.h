// Dynamic sampling, for RolloutManager: a step trains only on groups from which the policy can learn. Each domain owes
// the step its share of groups and keeps the first useful ones in prompt order, even if later prompts are scored
// earlier. For each group that query_filter_config drops, another prompt starts while others still run; more may start
// ahead of need. In the end the prompt stream continues right after the last prompt that was needed.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/prompt_stream.h"
#include "records/rollout_record.h"
#include "reward/config.h"

namespace roll {

/// Scores of a group; nullopt: the response could not be judged.
using GroupScores = std::span<const std::optional<double>>;

/// Returns true if the filter keeps a group. mean_filter: threshold_down < mean < threshold_up. std_filter: standard
/// deviation (n - 1) above std_threshold. Missing scores are ignored; both filters drop a group without any score.
bool is_useful(GroupScores scores, const QueryFilterConfig& filter);

/// A prompt to sample.
struct Prompt {
  std::shared_ptr<const Row> row{};
  uint64_t number = 0;         // index in its step; key of its random numbers
  bool awaits_scores = false;  // scores decide if it is kept, or which rows come later
  bool is_ahead = false;       // started ahead of need
};

class GroupQuota {
 public:
  /// `owed`: groups of each domain. `num_additional`: prompts that a domain with a filter may run beyond the groups
  /// that it still lacks. All references must outlive the quota.
  GroupQuota(const std::map<std::string, int64_t>& owed, PromptStream& stream,
             const std::map<std::string, QueryFilterConfig>& filters, int64_t num_additional = 0);

  /// Returns the prompts that should start now.
  std::vector<Prompt> next();
  /// Caps the groups that are sampled or kept at floor(share * owed) per domain, without prompts ahead of need. share
  /// >= 1: no cap.
  void limit(double share);
  /// Returns true if each domain has kept all groups that the limit allows.
  bool has_all_allowed() const;
  /// Records the scores of a prompt that awaits them. `index`: counts the prompts from next(). UserError: a domain that
  /// lacks groups dropped as many in a row as its data has prompts, and at least as many as it owes.
  void add(int64_t index, GroupScores scores);
  /// Returns false if the step is full before this prompt's turn, whatever its scores.
  bool needs(int64_t index) const;
  /// Returns true if all groups of the step are known.
  bool is_full() const;

  struct Counts {
    int64_t sampled = 0, dropped = 0, aborted = 0;  // groups: kept or dropped; dropped; started but not needed
  };
  /// Returns the counts so far, by domain.
  std::map<std::string, Counts> counts() const;
  /// Returns, for a full step, the mean score of each group up to the last needed one, by domain and in prompt order;
  /// nullopt if no scores were awaited or none could be judged.
  std::map<std::string, std::vector<std::optional<double>>> mean_scores() const;
  /// Ends a full step. Gives unneeded prompts back to the stream. Returns the kept `records`, domain by domain. Their
  /// group_index is the prompt's index before, and counts the kept groups from 0 after.
  std::vector<RolloutRecord> take(std::vector<RolloutRecord> records);

 private:
  enum class Verdict { kOpen, kUseful, kUseless };
  struct Domain {
    std::string name;
    int64_t owed = 0, num_prompts = 0;
    int64_t allowed = owed;  // limit on the groups kept
    const QueryFilterConfig* filter = nullptr;
    std::vector<Verdict> verdicts{};                   // per started prompt, in order
    std::vector<std::optional<double>> mean_scores{};  // per started prompt
    int64_t num_known = 0;                             // prompts before the first open one, or up to the last needed
    int64_t num_kept = 0, num_dropped_in_row = 0;      // groups kept so far; consecutive dropped groups
    // One past the prompt that completes the useful groups, as known so far; can only decrease.
    int64_t num_needed = std::numeric_limits<int64_t>::max();

    int64_t missing(int64_t num_additional) const;
    bool is_full() const { return num_kept == owed; }
    bool is_limited() const { return allowed < owed; }
    void count_known();
    void throw_if_hopeless() const;
  };
  struct DomainPrompt {
    int64_t domain = 0, number = 0;
  };

  PromptStream& stream_;
  int64_t num_additional_;
  std::vector<Domain> domains_;               // sorted by name
  std::vector<DomainPrompt> domain_prompts_;  // one per prompt from next()
};

}  // namespace roll
