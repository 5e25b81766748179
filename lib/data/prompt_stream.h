// The order in which a run sees its rows: one endless stream per domain, each with its own share of every step.
//
// A domain's rows are permuted afresh for each of its epochs by the random numbers named (seed, kEpochShuffle, epoch,
// domain), so no row repeats within an epoch and adding a domain does not re-order another. A step may straddle two
// epochs. The cursor is a small JSON value: a resumed run goes on with the very next row.
//
// A curriculum changes this by rules that know no more than is written down here. By difficulty: each epoch's
// permutation is sorted, easy rows first. By pass rate: a row whose turn it is is passed over if the random number
// named (seed, kPassOver, epoch, domain, row) is not below its weight, which follows from the scores of all steps
// before: settle() tells them between two steps, so that the draws of a step are the same whenever and wherever it was
// begun. Shares that change are a function of the step.
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

/// Splits `count` prompts over domains by largest remainder: each gets floor(share x count), then the largest
/// fractional parts get one more (ties: the first name). The result is the same for every step.
/// UserError: a share is negative, the shares do not sum to 1 (within 1e-6).
std::map<std::string, int64_t> split_by_share(const std::map<std::string, double>& shares, int64_t count);

class PromptStream {
 public:
  /// `rows` must have their domains. `shares` is domain_interleave_probs; empty: every domain's share is its number of
  /// rows. UserError: rows of a domain without a share, a share without rows, rows to be sorted by a difficulty that is
  /// the same for all.
  PromptStream(RowStore rows, const std::map<std::string, double>& shares, uint64_t seed,
               const Curriculum& curriculum = {});

  /// Each domain's part of a step of `count` prompts. UserError: a domain with a share gets none, unless its share is
  /// on the way to another one.
  std::map<std::string, int64_t> quota(int64_t count, int64_t step = 1) const;
  /// The next rows of these domains, domain after domain in the order of their names.
  std::vector<std::shared_ptr<const Row>> next(const std::map<std::string, int64_t>& counts);
  /// Undoes next() for so many of the last rows of these domains; of rows since the last settle().
  void take_back(const std::map<std::string, int64_t>& counts);

  /// Whether it wants to know how many responses to a row were right.
  bool wants_pass_rates() const { return curriculum_.sampler == DataSampler::kPassRate; }
  /// Ends a step. `rates`: of each domain, in the order in which next() gave the step's rows, the share of right
  /// responses; nothing where it is not known. Gives how many rows of each domain were passed over.
  std::map<std::string, int64_t> settle(const std::map<std::string, std::vector<std::optional<double>>>& rates);

  /// Rows of each domain.
  std::map<std::string, int64_t> num_rows() const;

  /// All of them, in the order of the files.
  const RowStore& rows() const { return *rows_; }

  /// {"seed", "domains": {name: {"epoch", "position", "num_rows", "fingerprint"[, "pass_rates"]}}}: the fingerprint
  /// covers the rows' ids and prompt tokens.
  Json state() const;
  /// Continues where `state` was taken. UserError when the seed or a domain's rows have changed since.
  void load_state(const Json& state);

 private:
  /// A row that was given, and where the domain stood before.
  struct Given {
    int64_t epoch, position, row;
  };
  struct Domain {
    const RowStore::Domain* rows;  // in file order
    std::string fingerprint;
    std::vector<int64_t> order{};  // permutation of this epoch
    int64_t epoch = 0, position = 0;
    PassRates pass_rates{};
    std::vector<Given> given{};  // since the last settle()

    int64_t num_rows() const { return std::ssize(rows->rows); }
  };

  void shuffle(const std::string& name, Domain& domain) const;
  int64_t draw(const std::string& name, Domain& domain) const;
  bool passes_over(const std::string& name, const Domain& domain, int64_t row) const;
  void check_difficulties(const std::string& name, const RowStore::Domain& rows) const;
  void check_scheduled() const;

  std::shared_ptr<const RowStore> rows_;
  std::map<std::string, double> shares_;
  Curriculum curriculum_;
  std::map<std::string, Domain> domains_;
  uint64_t seed_;
};

}  // namespace roll
