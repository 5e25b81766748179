#include "preview/row_facts.h"

#include <algorithm>
#include <fstream>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/other_format.h"

namespace roll {

namespace {

bool is_blank(const std::string& line) {
  return line.find_first_not_of(" \t\r") == std::string::npos;
}

void find_rows_in(const std::filesystem::path& file, const PromptColumns& columns, FoundRows& found) {
  std::ifstream in = open_to_read(file);
  std::string line;
  bool is_first = true;
  for (int64_t number = 1; next_line(in, line, file.string(), number); ++number) {
    if (is_blank(line)) continue;
    if (std::exchange(is_first, false)) refuse_other_format(line, file.string());
    const std::string origin = fmt::format("{}:{}", file.string(), number);
    try {
      const Json json = parse_json(line, origin);
      if (!json.is_object()) throw user_error("{}: {} where a JSON object is needed", origin, json.type_name());
      found.rows.push_back(parse_row(json, origin, columns));
    } catch (const UserError& e) {
      found.bad.emplace_back(e.what());
    }
  }
}

bool holds_something(const Json& value) {
  return !value.is_null() && value != "";
}

}  // namespace

FoundRows find_rows(const std::vector<std::string>& patterns, const PromptColumns& columns) {
  FoundRows found;
  for (const auto& file : expand_files(patterns)) find_rows_in(file, columns, found);
  return found;
}

std::string prompt_text(const Row& row) {
  return row.messages ? to_line(*row.messages) : row.prompt;
}

RowFacts facts_of(const std::vector<Row>& rows) {
  RowFacts facts;
  std::unordered_map<std::string, const Row*> first_with;
  for (const Row& row : rows) {
    for (const auto& column : row.raw.items()) facts.columns[column.key()] += holds_something(column.value());
    if (!row.tag.empty()) ++facts.tags[row.tag];
    if (!row.domain.empty()) ++facts.domains[row.domain];
    const auto [first, is_new] = first_with.emplace(prompt_text(row), &row);
    if (is_new) continue;
    ++facts.repeated;
    if (first->second->ground_truth == row.ground_truth) continue;
    if (++facts.contradicting == 1)
      facts.first_contradiction = fmt::format("{} has the prompt of {}", row.origin, first->second->origin);
  }
  return facts;
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
