// The order in which a run sees its rows: one endless stream per domain, each with its own share of every step.
//
// A domain's rows are permuted afresh for each of its epochs by the random numbers named (seed, kEpochShuffle, epoch,
// domain), so no row repeats within an epoch and adding a domain does not re-order another. A step may straddle two
// epochs. The cursor is a small JSON value: a resumed run goes on with the very next row.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "data/row_store.h"

namespace roll {

/// Splits `count` prompts over domains by largest remainder: each gets floor(share x count), then the largest
/// fractional parts get one more (ties: the first name). The result is the same for every step.
/// UserError: a share is negative, the shares do not sum to 1 (within 1e-6).
std::map<std::string, int64_t> split_by_share(const std::map<std::string, double>& shares, int64_t count);

class PromptStream {
 public:
  /// `rows` must have their domains. `shares` is domain_interleave_probs; empty: every domain's share is its number of
  /// rows. UserError: rows of a domain without a share, a share without rows.
  PromptStream(RowStore rows, const std::map<std::string, double>& shares, uint64_t seed);

  /// Each domain's part of a step of `count` prompts. UserError: a domain with a share gets none.
  std::map<std::string, int64_t> quota(int64_t count) const;
  /// The next rows of these domains, domain after domain in the order of their names.
  std::vector<std::shared_ptr<const Row>> next(const std::map<std::string, int64_t>& counts);
  /// Undoes next() for so many of the last rows of these domains.
  void take_back(const std::map<std::string, int64_t>& counts);

  /// Rows of each domain.
  std::map<std::string, int64_t> num_rows() const;

  /// All of them, in the order of the files.
  const RowStore& rows() const { return *rows_; }

  /// {"seed", "domains": {name: {"epoch", "position", "num_rows", "fingerprint"}}}: the fingerprint covers the rows'
  /// ids and prompt tokens.
  Json state() const;
  /// Continues where `state` was taken. UserError when the seed or a domain's rows have changed since.
  void load_state(const Json& state);

 private:
  struct Domain {
    const std::vector<int64_t>* rows;  // indices into rows_, in file order
    std::string fingerprint;
    std::vector<int64_t> order{};  // permutation of this epoch
    int64_t epoch = 0, position = 0;

    int64_t num_rows() const { return std::ssize(*rows); }
  };

  void shuffle(const std::string& name, Domain& domain) const;

  std::shared_ptr<const RowStore> rows_;
  std::map<std::string, double> shares_;
  std::map<std::string, Domain> domains_;
  uint64_t seed_;
};

}  // namespace roll
