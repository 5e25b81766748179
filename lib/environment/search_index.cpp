#include "environment/search_index.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "base/error.h"
#include "base/json.h"

namespace roll {

namespace {

constexpr double kSaturation = 1.2, kLengthShare = 0.75;  // k1 and b of Robertson and Zaragoza, 2009

/// Returns runs of letters and digits, in lower case; non-ASCII bytes count as letters.
std::vector<std::string> index_words(const std::string& text) {
  std::vector<std::string> words{""};
  for (const char c : text) {
    const bool is_capital = c >= 'A' && c <= 'Z';
    if (is_capital || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c & 0x80))
      words.back() += is_capital ? static_cast<char>(c - 'A' + 'a') : c;
    else if (!words.back().empty())
      words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

std::string read_document(const Json& row, const std::string& origin) {
  const auto text = [&](const char* key) {
    if (!row.at(key).is_string())
      throw user_error("{}: {} = {}: must be a text; write one", origin, key, to_line(row.at(key)));
    return row.at(key).get<std::string>();
  };
  if (!row.contains("text")) throw user_error("{}: has no \"text\"; write the document there", origin);
  return row.contains("title") ? text("title") + "\n" + text("text") : text("text");
}

}  // namespace

std::shared_ptr<const SearchIndex> SearchIndex::load(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw user_error("{}: cannot be read{}; give a file of documents", file.string(), errno_text());
  std::vector<std::string> documents;
  for_each_json_line(in, file.string(), [&](int64_t line, const Json& row) {
    documents.push_back(read_document(row, fmt::format("{}:{}", file.string(), line)));
  });
  if (documents.empty()) throw user_error("{}: holds no document; write lines with a \"text\"", file.string());
  return std::make_shared<const SearchIndex>(std::move(documents));
}

SearchIndex::SearchIndex(std::vector<std::string> documents) : documents_(std::move(documents)) {
  for (int64_t number = 0; number < std::ssize(documents_); ++number) {
    const std::vector<std::string> words = index_words(documents_[number]);
    lengths_.push_back(static_cast<double>(words.size()));
    for (const std::string& word : words) {
      std::vector<Entry>& entries = entries_[word];
      if (entries.empty() || entries.back().document != number) entries.push_back({number, 0});
      ++entries.back().count;
    }
  }
  const double mean =
      std::max(1.0, std::reduce(lengths_.begin(), lengths_.end()) / std::max<double>(1, std::ssize(lengths_)));
  for (double& length : lengths_) length /= mean;
}

std::vector<int64_t> SearchIndex::find(const std::string& query, int64_t max_results) const {
  std::map<int64_t, double> scores;
  const std::vector<std::string> words = index_words(query);
  for (const std::string& word : std::set<std::string>(words.begin(), words.end())) {
    const auto found = entries_.find(word);
    if (found == entries_.end()) continue;
    const auto num_holders = static_cast<double>(found->second.size());
    const double rarity =
        std::log1p((static_cast<double>(documents_.size()) - num_holders + 0.5) / (num_holders + 0.5));
    for (const auto& [number, count] : found->second) {
      const auto times = static_cast<double>(count);
      const double length = 1 - kLengthShare + kLengthShare * lengths_[number];
      scores[number] += rarity * times * (kSaturation + 1) / (times + kSaturation * length);
    }
  }
  std::vector<int64_t> numbers;
  for (const auto& [number, score] : scores) numbers.push_back(number);
  std::ranges::stable_sort(numbers, [&](int64_t a, int64_t b) { return scores[a] > scores[b]; });
  numbers.resize(std::min<size_t>(numbers.size(), max_results));
  return numbers;
}

}  // namespace roll
