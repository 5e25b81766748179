// Stores the rows of a run. Memory holds domains, fingerprints and question hashes; once the contents exceed a limit,
// further rows go to a temporary file (spilled_bytes.h) and are read on demand.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "data/leaks.h"
#include "data/rows.h"
#include "data/spilled_bytes.h"

namespace roll {

/// Bytes of row contents that a store keeps in memory by default.
constexpr int64_t kRowsInMemory = int64_t{64} << 20;

/// Append-only list of prompt rows, grouped by domain.
class RowStore {
 public:
  explicit RowStore(int64_t bytes_in_memory = kRowsInMemory) : bytes_(bytes_in_memory) {}
  /// Stores copies of these rows.
  RowStore(const std::vector<Row>& rows);

  /// Appends a row, which must have its domain and prompt_ids. Throws SystemError if the temporary file cannot be
  /// written.
  void add(const Row& row) { add(row, prompt_key(row)); }
  /// Appends a row like add(row), with the question hash `key` in place of prompt_key(row).
  void add(const Row& row, uint64_t key);
  /// Returns the number of rows.
  int64_t size() const { return bytes_.size(); }
  /// Returns a copy of the row with this index (0 for the first row added). Throws SystemError if the temporary file
  /// cannot be read.
  Row at(int64_t index) const;

  struct Domain {
    std::vector<int64_t> rows;           // indices, in the order of add()
    uint64_t fingerprint;                // hash of the rows' ids and prompt tokens
    std::vector<double> difficulties{};  // Row::difficulty of each of `rows`
  };
  const std::map<std::string, Domain>& domains() const { return domains_; }
  /// Returns the question hashes of the rows.
  PromptKeys prompts() const {
    return {keys_, [this](int64_t row) { return at(row).origin; }};
  }

 private:
  SpilledBytes bytes_;
  std::map<std::string, Domain> domains_;
  std::vector<uint64_t> keys_;  // question hashes
};

/// Append-only list of tokenized rows, stored like those of a RowStore, but without domains. T: SftRow or PairRow.
template <class T>
class StoredRows {
 public:
  /// Appends a row; `key`: prompt_key() of the Row that it was made from. Throws SystemError as RowStore::add().
  void add(const T& row, uint64_t key) {
    bytes_.add(encode_message(row));
    keys_.push_back(key);
    fingerprint_ = row.hash(fingerprint_);
  }
  int64_t size() const { return bytes_.size(); }
  /// Returns copies of rows by index, from 0. Throws SystemError as RowStore::at() does.
  T at(int64_t index) const { return decode_message<T>(bytes_.at(index)); }
  std::vector<T> at(const std::vector<int64_t>& indices) const {
    std::vector<T> rows;
    for (const int64_t index : indices) rows.push_back(at(index));
    return rows;
  }
  /// Returns a hash of all rows' tokens, in order.
  uint64_t fingerprint() const { return fingerprint_; }
  /// Returns the question hashes of the rows.
  PromptKeys prompts() const {
    return {keys_, [this](int64_t row) { return at(row).origin; }};
  }

 private:
  SpilledBytes bytes_{kRowsInMemory};
  std::vector<uint64_t> keys_;
  uint64_t fingerprint_ = fnv1a("");
};

}  // namespace roll
