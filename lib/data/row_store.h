// The rows of a run: in memory only where they are, which domain they belong to and a fingerprint; else on disk, in an
// unlinked file that is gone with the process, once they are more than a few. Each is read again when its turn comes.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "data/rows.h"

namespace roll {

class RowStore {
 public:
  /// Bytes that stay in memory.
  static constexpr int64_t kBytesInMemory = int64_t{64} << 20;

  RowStore() = default;
  explicit RowStore(int64_t bytes_in_memory) : bytes_in_memory_(bytes_in_memory) {}
  RowStore(const std::vector<Row>& rows);

  /// Behind the others; it has its domain and prompt_ids. SystemError: the disk of the folder for temporary files
  /// (TMPDIR, else /tmp) is full.
  void add(const Row& row);
  int64_t size() const { return std::ssize(ends_); }
  /// A copy, equal to what was added. SystemError: the file cannot be read.
  Row at(int64_t index) const;

  struct Domain {
    std::vector<int64_t> rows;  // indices, in the order of add()
    uint64_t fingerprint;       // of ids and prompt tokens
    std::vector<double> difficulties{};
  };
  const std::map<std::string, Domain>& domains() const { return domains_; }

 private:
  void write(const std::string& bytes);

  int64_t bytes_in_memory_ = kBytesInMemory;
  std::vector<int64_t> ends_;  // where the bytes of each row end
  std::string memory_;         // the first ones
  Descriptor file_;            // all behind them; none yet where they are few
  std::map<std::string, Domain> domains_;
};

}  // namespace roll
