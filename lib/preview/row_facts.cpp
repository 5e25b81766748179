#include "preview/row_facts.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"

namespace roll {

namespace {

bool has_value(const Json& value) {
  return !value.is_null() && value != "";
}

}  // namespace

std::string prompt_text(const Row& row) {
  return row.messages ? to_line(*row.messages) : row.prompt;
}

void RowFactsCollector::add(const Row& row) {
  for (const auto& column : row.raw.items()) facts_.columns[column.key()] += has_value(column.value());
  if (!row.tag.empty()) ++facts_.tags[row.tag];
  if (!row.domain.empty()) ++facts_.domains[row.domain];
  const Seen seen{intern_origin(row.origin), fnv1a(row.ground_truth)};
  const auto [first, is_new] = first_row_by_prompt_.emplace(fnv1a(prompt_text(row)), seen);
  if (is_new) return;
  ++facts_.repeated;
  if (first->second.ground_truth == seen.ground_truth) return;
  if (++facts_.contradicting == 1)
    facts_.first_contradiction = fmt::format("{} has the prompt of {}", row.origin, origin_text(first->second.origin));
}

RowFactsCollector::Origin RowFactsCollector::intern_origin(const std::string& origin) {
  const size_t colon = origin.rfind(':');
  const std::string file = origin.substr(0, colon);
  if (files_.empty() || files_.back() != file) files_.push_back(file);
  return {std::ssize(files_) - 1, std::stoll(origin.substr(colon + 1))};
}

std::string RowFactsCollector::origin_text(const Origin& origin) const {
  return fmt::format("{}:{}", files_[origin.file], origin.number);
}

RowFacts row_facts(const std::vector<Row>& rows) {
  RowFactsCollector collector;
  for (const Row& row : rows) collector.add(row);
  return collector.facts();
}

std::string counts_text(const std::map<std::string, int64_t>& counts, size_t max_entries) {
  std::vector<std::pair<std::string, int64_t>> by_size(counts.begin(), counts.end());
  std::ranges::stable_sort(by_size, std::greater{}, &std::pair<std::string, int64_t>::second);
  std::string text;
  for (size_t i = 0; i < std::min(max_entries, by_size.size()); ++i)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", by_size[i].first, by_size[i].second);
  if (by_size.size() > max_entries) text += fmt::format(", and {} more", by_size.size() - max_entries);
  return text.empty() ? "none" : text;
}

}  // namespace roll
