#include "preview/row_facts.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"

namespace roll {

namespace {

bool holds_something(const Json& value) {
  return !value.is_null() && value != "";
}

}  // namespace

std::string prompt_text(const Row& row) {
  return row.messages ? to_line(*row.messages) : row.prompt;
}

void FactsOfRows::add(const Row& row) {
  for (const auto& column : row.raw.items()) facts_.columns[column.key()] += holds_something(column.value());
  if (!row.tag.empty()) ++facts_.tags[row.tag];
  if (!row.domain.empty()) ++facts_.domains[row.domain];
  const Seen seen{intern_origin(row.origin), fnv1a(row.ground_truth)};
  const auto [first, is_new] = first_with_.emplace(fnv1a(prompt_text(row)), seen);
  if (is_new) return;
  ++facts_.repeated;
  if (first->second.ground_truth == seen.ground_truth) return;
  if (++facts_.contradicting == 1)
    facts_.first_contradiction = fmt::format("{} has the prompt of {}", row.origin, origin_text(first->second.origin));
}

FactsOfRows::Origin FactsOfRows::intern_origin(const std::string& origin) {
  const size_t colon = origin.rfind(':');
  const std::string file = origin.substr(0, colon);
  if (files_.empty() || files_.back() != file) files_.push_back(file);
  return {std::ssize(files_) - 1, std::stoll(origin.substr(colon + 1))};
}

std::string FactsOfRows::origin_text(const Origin& origin) const {
  return fmt::format("{}:{}", files_[origin.file], origin.number);
}

RowFacts row_facts(const std::vector<Row>& rows) {
  FactsOfRows facts;
  for (const Row& row : rows) facts.add(row);
  return facts.all();
}

std::string counts_text(const std::map<std::string, int64_t>& counts, size_t most) {
  std::vector<std::pair<std::string, int64_t>> by_size(counts.begin(), counts.end());
  std::ranges::stable_sort(by_size, std::greater{}, &std::pair<std::string, int64_t>::second);
  std::string text;
  for (size_t i = 0; i < std::min(most, by_size.size()); ++i)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", by_size[i].first, by_size[i].second);
  if (by_size.size() > most) text += fmt::format(", and {} more", by_size.size() - most);
  return text.empty() ? "none" : text;
}

}  // namespace roll
