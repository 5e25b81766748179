// Full-text index of local documents with Okapi BM25 ranking, for the tool `search` (search_tool.h). Words are runs of
// letters and digits, without regard to ASCII case.
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
  /// Loads JSON lines with "text" and, optionally, "title". A document is the title, if any, and the text. Throws
  /// UserError if the file is missing or empty, or a line has no text.
  static std::shared_ptr<const SearchIndex> load(const std::filesystem::path& file);
  /// Indexes these documents.
  explicit SearchIndex(std::vector<std::string> documents);

  /// Returns the numbers (see document()) of the best documents, best first, at most `max_results`. Documents without a
  /// word of the query are left out; equally good ones are ordered by number.
  std::vector<int64_t> find(const std::string& query, int64_t max_results) const;
  /// Returns a document. `number`: its index, from 0, in the file or the constructor's list.
  const std::string& document(int64_t number) const { return documents_.at(number); }

 private:
  struct Entry {
    int64_t document, count;  // number of a document, and how often it has the word
  };
  std::vector<std::string> documents_;
  std::vector<double> lengths_;                                     // number of words, divided by the mean
  std::map<std::string, std::vector<Entry>, std::less<>> entries_;  // by word; documents ascending
};

}  // namespace roll
