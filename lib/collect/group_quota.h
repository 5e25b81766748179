// Dynamic sampling: a step trains on groups from which something can be learnt. Every domain owes the step its share of
// groups and keeps the first useful ones in the order of its prompts, whatever is known of later ones by then. For each
// that query_filter_config drops another prompt starts while others still run, and some more ahead of that where
// wanted; in the end the stream stands right behind the last prompt that was needed.
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

/// Scores of a group; none: it could not be judged.
using GroupScores = std::span<const std::optional<double>>;

/// Whether the filter keeps a group, by the scores that there are: mean_filter where threshold_down < mean <
/// threshold_up, std_filter where the deviation (n - 1) is above std_threshold. Without a score it keeps none.
bool is_useful(GroupScores scores, const QueryFilterConfig& filter);

/// A prompt to sample.
struct Prompt {
  std::shared_ptr<const Row> row{};
  uint64_t number = 0;         // in its step, whatever else runs: names its random numbers
  bool awaits_scores = false;  // they decide whether it is kept, or which rows are drawn later
  bool is_ahead = false;       // the step can do without, if others are kept
};

class GroupQuota {
 public:
  /// `owed`: groups of each domain; `num_additional`: how many prompts of a domain with a filter may run beyond those
  /// that it still lacks. All references must outlive the quota.
  GroupQuota(const std::map<std::string, int64_t>& owed, PromptStream& stream,
             const std::map<std::string, QueryFilterConfig>& filters, int64_t num_additional = 0);

  /// What should start now.
  std::vector<Prompt> next();
  /// From now on no more than this share of what each domain owes, rounded down, is sampled at once or kept, and no
  /// prompt ahead of that; 1 or more: all.
  void limit(double share);
  /// Whether all groups that the limit allows are known.
  bool has_what_is_allowed() const;
  /// The scores of a prompt that awaits them; `index` counts all that next() gave. UserError: a domain that lacks
  /// groups lost as many in a row as its data has prompts (and at least what it owes): there is no hope for better
  /// ones.
  void add(int64_t index, GroupScores scores);
  /// False: whatever it gives, the step is full before its turn.
  bool needs(int64_t index) const;
  /// Whether all groups of the step are known.
  bool is_full() const;

  struct Counts {
    int64_t sampled = 0, dropped = 0, aborted = 0;  // groups: kept or dropped; dropped; started, but not needed
  };
  std::map<std::string, Counts> counts() const;
  /// When it is full: of each domain the mean score of each group up to the last that was needed, in the order of its
  /// prompts; nothing where none was awaited or none could be judged.
  std::map<std::string, std::vector<std::optional<double>>> mean_scores() const;
  /// When it is full: gives prompts that were not needed back to the stream, and of `records`, whose group_index is the
  /// prompt's, those that are kept, domain after domain; group_index numbers the groups anew.
  std::vector<RolloutRecord> take(std::vector<RolloutRecord> records);

 private:
  enum class Verdict { kOpen, kUseful, kUseless };
  struct Domain {
    std::string name;
    int64_t owed = 0, num_prompts = 0;
    int64_t allowed = owed;  // of those
    const QueryFilterConfig* filter = nullptr;
    std::vector<Verdict> verdicts{};                   // of the prompts that were started, in their order
    std::vector<std::optional<double>> mean_scores{};  // of these
    int64_t num_known = 0;                             // before the first that is open, or the step is full
    int64_t num_kept = 0, num_lost = 0;                // of those; lost in a row
    // Behind as many useful groups as are owed, as far as is known: it can only come nearer.
    int64_t end = std::numeric_limits<int64_t>::max();

    int64_t missing(int64_t num_additional) const;
    bool is_full() const { return num_kept == owed; }
    bool is_limited() const { return allowed < owed; }
    void look();
    void throw_if_hopeless() const;
  };
  struct Place {
    int64_t domain = 0, number = 0;
  };

  PromptStream& stream_;
  int64_t num_additional_;
  std::vector<Domain> domains_;  // by name
  std::vector<Place> places_;    // of the prompts that next() gave
};

}  // namespace roll
