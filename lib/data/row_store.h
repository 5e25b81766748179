// The rows of a run: in memory only which domain they belong to, a fingerprint and what their prompts ask; else on disk
// once they are more than a few (spilled_bytes.h). Each is read again when its turn comes.
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

/// Bytes of a run's rows that stay in memory.
constexpr int64_t kRowsInMemory = int64_t{64} << 20;

class RowStore {
 public:
  explicit RowStore(int64_t bytes_in_memory = kRowsInMemory) : bytes_(bytes_in_memory) {}
  RowStore(const std::vector<Row>& rows);

  /// Behind the others; it has its domain and prompt_ids. SystemError as SpilledBytes.
  void add(const Row& row) { add(row, prompt_key(row)); }
  /// `key`: what it asks, where that is not its prompt.
  void add(const Row& row, uint64_t key);
  int64_t size() const { return bytes_.size(); }
  /// A copy, equal to what was added. SystemError: the file cannot be read.
  Row at(int64_t index) const;

  struct Domain {
    std::vector<int64_t> rows;  // indices, in the order of add()
    uint64_t fingerprint;       // of ids and prompt tokens
    std::vector<double> difficulties{};
  };
  const std::map<std::string, Domain>& domains() const { return domains_; }
  /// What the rows ask.
  AskedPrompts prompts() const {
    return {keys_, [this](int64_t row) { return at(row).origin; }};
  }

 private:
  SpilledBytes bytes_;
  std::map<std::string, Domain> domains_;
  std::vector<uint64_t> keys_;  // of the prompts
};

/// Rows that are made once, as those above without domains.
template <class T>
class StoredRows {
 public:
  void add(const T& row, uint64_t key) {
    bytes_.add(encode_message(row));
    keys_.push_back(key);
    fingerprint_ = row.hash(fingerprint_);
  }
  int64_t size() const { return bytes_.size(); }
  T at(int64_t index) const { return decode_message<T>(bytes_.at(index)); }
  std::vector<T> at(const std::vector<int64_t>& indices) const {
    std::vector<T> rows;
    for (const int64_t index : indices) rows.push_back(at(index));
    return rows;
  }
  /// Tells whether these are the same rows in the same order.
  uint64_t fingerprint() const { return fingerprint_; }
  AskedPrompts prompts() const {
    return {keys_, [this](int64_t row) { return at(row).origin; }};
  }

 private:
  SpilledBytes bytes_{kRowsInMemory};
  std::vector<uint64_t> keys_;
  uint64_t fingerprint_ = fnv1a("");
};

}  // namespace roll
