// Okapi BM25 over documents of this machine: which of them a query is about.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace roll {

/// Immutable; may be used from several threads.
class SearchIndex {
 public:
  /// JSON lines with "text", and "title" where there is one. UserError: no such file, a line without text, none at all.
  static std::shared_ptr<const SearchIndex> load(const std::filesystem::path& file);
  explicit SearchIndex(std::vector<std::string> documents);

  /// Numbers of the best documents that have a word of the query, the best first; ties by number.
  std::vector<int64_t> find(const std::string& query, int64_t most) const;
  const std::string& document(int64_t number) const { return documents_.at(number); }

 private:
  struct Entry {
    int64_t document, count;
  };
  std::vector<std::string> documents_;
  std::vector<double> lengths_;  // words, over their mean
  std::map<std::string, std::vector<Entry>, std::less<>> entries_;
};

}  // namespace roll
