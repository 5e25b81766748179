// Draws the prompts of each step: one endless stream per domain, with a share of every step.
//
// Each epoch of a domain has a new permutation from the random numbers (seed, kEpochShuffle, epoch, domain). No row
// repeats within an epoch, and a new domain does not re-order others. A step may span two epochs. The cursor is a small
// JSON value, so a resumed run continues with the next row.
//
// Curricula are deterministic too. By difficulty: each permutation is sorted, easy rows first. By pass rate: a row is
// skipped if the random number (seed, kPassOver, epoch, domain, row) is not below its weight. Weights depend on the
// scores of earlier steps and change only in settle(), between steps, so draws do not depend on when a step starts.
// Scheduled shares are a function of the step.
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

/// Splits `count` prompts over domains by largest remainder: each gets floor(share x count); the largest fractional
/// parts get one more (ties: first name). Every step has the same split. UserError: a share is negative, or the shares
/// do not sum to 1 (within 1e-6).
std::map<std::string, int64_t> split_by_share(const std::map<std::string, double>& shares, int64_t count);

/// Draws rows for each step and saves its own state.
class PromptStream {
 public:
  /// `rows` must have domains. `shares` is domain_interleave_probs; if empty, shares are proportional to the rows.
  /// UserError: a domain without a share, a share without rows, or difficulty sampling with equal difficulties.
  PromptStream(RowStore rows, const std::map<std::string, double>& shares, uint64_t seed,
               const Curriculum& curriculum = {});

  /// Returns each domain's number of prompts in a step of `count`. UserError: a domain with a share gets none (not
  /// checked for scheduled shares).
  std::map<std::string, int64_t> quota(int64_t count, int64_t step = 1) const;
  /// Returns the next rows of these domains, ordered by domain name.
  std::vector<std::shared_ptr<const Row>> next(const std::map<std::string, int64_t>& counts);
  /// Undoes next() for the last `counts` rows of these domains; at most those since the last settle().
  void take_back(const std::map<std::string, int64_t>& counts);

  /// Returns true if settle() uses the rates of right responses.
  bool wants_pass_rates() const { return curriculum_.sampler == DataSampler::kPassRate; }
  /// Ends a step. `rates`: per domain, in the order of next(), the share of right responses per row; nullopt if
  /// unknown. Returns the number of skipped rows per domain.
  std::map<std::string, int64_t> settle(const std::map<std::string, std::vector<std::optional<double>>>& rates);

  /// Returns the number of rows per domain.
  std::map<std::string, int64_t> num_rows() const;

  /// Returns all rows, in file order.
  const RowStore& rows() const { return *rows_; }

  /// {"seed", "domains": {name: {"epoch", "position", "num_rows", "fingerprint"[, "pass_rates"]}}}. The fingerprint
  /// covers the rows' ids and prompt tokens.
  Json state() const;
  /// Restores a state. UserError: the seed or a domain's rows have changed.
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
