// Draws the prompts of each step: one endless stream per domain, with a share of every step.
//
// An epoch is one pass over a domain's rows. Each has a new permutation from the random numbers (seed, kEpochShuffle,
// epoch, domain). No row repeats within an epoch, and a new domain does not re-order others. A step may span two
// epochs. The positions in all streams are a small JSON value, so a resumed run continues with the next row.
//
// Curricula are deterministic too. By difficulty: each permutation is sorted, easy rows first. By pass rate: a row is
// skipped if the random number (seed, kPassOver, epoch, domain, row) is not below PassRates::weight() of the row. The
// weights change only in settle(), between steps. Scheduled shares are a function of the step.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "data/curriculum.h"
#include "data/row_store.h"

namespace roll {

/// Splits `count` prompts over domains by largest remainder: each gets floor(share x count); the domains with the
/// largest fractional parts get one more (of equal ones, the first name). Throws UserError if a share is negative, or
/// if the shares do not sum to 1 (within 1e-6).
std::map<std::string, int64_t> split_by_share(const std::map<std::string, double>& shares, int64_t count);

/// Draws rows for each step and saves its own state.
class PromptStream {
 public:
  /// Each row must have its domain. `shares` is domain_interleave_probs; if empty, shares are proportional to the
  /// numbers of rows. Throws UserError if there are no rows, a row's domain has no share, a domain with a share has no
  /// rows, or the shares do not sum to 1. Also throws it if rows are to be sorted by difficulty but all rows of a
  /// domain have the same.
  PromptStream(RowStore rows, const std::map<std::string, double>& shares, uint64_t seed,
               const Curriculum& curriculum = {});

  /// Returns how many of the `count` prompts of step `step` (from 1) each domain gets. Throws UserError if a domain
  /// with a share above 0 gets none, unless shares are scheduled.
  std::map<std::string, int64_t> quota(int64_t count, int64_t step = 1) const;

  /// Draws the next counts[domain] rows of each domain and returns all, ordered by domain name. May be called several
  /// times per step.
  std::vector<std::shared_ptr<const Row>> next(const std::map<std::string, int64_t>& counts);

  /// Undoes the last counts[domain] draws of each domain, so that next() returns these rows again. Throws Bug if there
  /// are more than the draws since the last settle().
  void take_back(const std::map<std::string, int64_t>& counts);

  /// Returns true if settle() uses `rates`.
  bool wants_pass_rates() const { return curriculum_.sampler == DataSampler::kPassRate; }
  /// Ends a step; call it once per step, with or without pass rates. `rates`: for each domain with drawn rows, one
  /// entry per row drawn since the last settle() and not taken back, in that order. An entry is the share of right
  /// responses to the row; nullopt if unknown. Returns per domain how many rows were skipped in this step.
  std::map<std::string, int64_t> settle(const std::map<std::string, std::vector<std::optional<double>>>& rates);

  /// Returns the number of rows per domain.
  std::map<std::string, int64_t> num_rows() const;

  /// Returns all rows, in file order.
  const RowStore& rows() const { return *rows_; }

  /// Returns the state for a checkpoint: {"seed", "domains": {name: {"epoch", "position", "num_rows", "fingerprint"
  /// [, "pass_rates"]}}}. The fingerprint covers the rows' ids and prompt tokens.
  Json state() const;
  /// Restores a state(). Throws UserError if the seed or a domain's rows have changed since.
  void load_state(const Json& state);

 private:
  /// A drawn row, and the domain's cursor before it.
  struct DrawnRow {
    int64_t epoch, position, row;
  };
  struct Domain {
    const RowStore::Domain* rows;  // in file order
    std::string fingerprint;
    std::vector<int64_t> order{};  // permutation of the epoch
    int64_t epoch = 0, position = 0;
    PassRates pass_rates{};
    std::vector<DrawnRow> drawn{};  // since the last settle()

    int64_t num_rows() const { return std::ssize(rows->rows); }
  };

  void shuffle(const std::string& name, Domain& domain) const;
  int64_t draw_row(const std::string& name, Domain& domain) const;
  bool skips_row(const std::string& name, const Domain& domain, int64_t row) const;
  void check_difficulties(const std::string& name, const RowStore::Domain& rows) const;
  void check_scheduled() const;

  std::shared_ptr<const RowStore> rows_;
  std::map<std::string, double> shares_;
  Curriculum curriculum_;
  std::map<std::string, Domain> domains_;
  uint64_t seed_;
};

}  // namespace roll
