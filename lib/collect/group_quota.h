// Decides which prompts a step samples and which groups it keeps (dynamic sampling), for RolloutManager. A group is all
// responses to one prompt. Each domain owes the step a number of groups that its filter keeps ("useful" ones); the
// first useful ones in prompt order count, even if later prompts are scored earlier. For each group that the filter
// drops, another prompt starts while others still run. Some prompts may start ahead of need, in case the filter drops
// groups. At the end of the step, the prompt stream goes back to right after the last prompt that was needed.
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

/// Scores of a group, one per response; nullopt: the response could not be judged.
using GroupScores = std::span<const std::optional<double>>;

/// Returns true if the filter keeps a group. mean_filter keeps it if threshold_down < mean < threshold_up; std_filter,
/// if the standard deviation (divisor n - 1) is above std_threshold. Missing scores are ignored; both filters drop a
/// group without any score. QueryFilter::kNone keeps every group.
bool is_useful(GroupScores scores, const QueryFilterConfig& filter);

/// A prompt to sample.
struct Prompt {
  std::shared_ptr<const Row> row{};
  uint64_t number = 0;         // unique within the step; key of the prompt's random numbers
  bool awaits_scores = false;  // scores are needed during sampling: for the filter, or to choose later rows
  bool is_ahead = false;       // started ahead of need: the running prompts suffice if the filter drops no group
};

/// All ranks that sample hold the same quota and make the same calls. `index`: position of a prompt in the sequence of
/// all prompts that next() has returned so far.
class GroupQuota {
 public:
  /// `owed`: number of groups that each domain must deliver. `filters`: one for each domain that owes groups.
  /// `num_additional`: extra prompts that a domain with a filter may run ahead of need. `stream` and `filters` must
  /// outlive the quota.
  GroupQuota(const std::map<std::string, int64_t>& owed, PromptStream& stream,
             const std::map<std::string, QueryFilterConfig>& filters, int64_t num_additional = 0);

  /// Draws from the stream the prompts that should start now, and returns them; empty if none should.
  std::vector<Prompt> next();
  /// Until the next call, lets each domain keep at most floor(share * owed) groups; if that is less than `owed`, no
  /// prompts start ahead of need. A share of 1 or more removes the limit.
  void limit(double share);
  /// Returns true if each domain has kept as many groups as limit() allows.
  bool has_all_allowed() const;
  /// Records the scores of a prompt with awaits_scores, once all its responses are scored. Throws UserError if a domain
  /// that lacks groups has dropped max(owed, number of rows in its data) groups in a row.
  void add(int64_t index, GroupScores scores);
  /// Returns false if the domain has all its groups without this prompt, so that sampling it is useless.
  bool needs(int64_t index) const;
  /// Returns true if every domain has kept all groups that it owes.
  bool is_full() const;

  /// Numbers of groups of a domain.
  struct Counts {
    int64_t sampled = 0;  // kept and dropped ones
    int64_t dropped = 0;  // dropped by the filter
    int64_t aborted = 0;  // started, but not needed
  };
  /// Returns the counts so far, by domain.
  std::map<std::string, Counts> counts() const;
  /// Returns the mean score of each sampled group of a full step, by domain, in prompt order. nullopt: no prompt of the
  /// domain awaits scores, or no response of the group could be judged.
  std::map<std::string, std::vector<std::optional<double>>> mean_scores() const;
  /// Ends a full step; call it once. Gives unneeded prompts back to the stream. `records`: this rank's responses, with
  /// the prompt's index as group_index. Returns those of kept groups; their group_index numbers the step's kept groups
  /// from 0, domain by domain.
  std::vector<RolloutRecord> take(std::vector<RolloutRecord> records);

 private:
  enum class Verdict { kOpen, kUseful, kUseless };  // kOpen: scores are missing
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
