#include "preview/data_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/utf8.h"
#include "reward/row_columns.h"

namespace roll {

namespace {

/// Characters of the messages themselves: the template's text depends on the model.
int64_t characters_of(const Row& row) {
  if (!row.messages) return num_characters(row.prompt);
  int64_t sum = 0;
  for (const Json& message : *row.messages) sum += num_characters(message["content"].get_ref<const std::string&>());
  return sum;
}

std::map<std::string, std::vector<const Row*>> by_domain(const std::vector<Row>& rows) {
  std::map<std::string, std::vector<const Row*>> domains;
  for (const Row& row : rows) domains[row.domain].push_back(&row);
  return domains;
}

void add_lengths(const std::vector<const Row*>& rows, const DataLens& lens, DomainView& view) {
  std::vector<int64_t> lengths;
  for (const Row* row : rows) lengths.push_back(lens.tokenizer ? std::ssize(row->prompt_ids) : characters_of(*row));
  view.shortest = *std::ranges::min_element(lengths);
  if (lens.tokenizer && lens.prompt_length > 0)
    view.dropped = std::ranges::count_if(lengths, [&](int64_t n) { return n == 0 || n > lens.prompt_length; });
  view.prompts = summary_of(std::move(lengths));
}

constexpr size_t kShownWrong = 3;

RewardQuery query_of(const Row& row, std::string response) {
  return {.row = row.raw,
          .messages = row.messages.value_or(Json{{{"role", "user"}, {"content", row.prompt}}}),
          .prompt = row.prompt,
          .response = std::move(response),
          .ground_truth = row.ground_truth,
          .tag = row.tag,
          .domain = row.domain,
          .finish_reason = "stop",
          .num_response_tokens = 1};
}

/// The error of a result without a verdict.
std::string error_in(const Json& detail) {
  const Json& error = detail["error"];
  return error.is_string() ? error.get<std::string>() : to_line(error);
}

std::string complaint(const Row& row, const std::string& gold, const RewardResult& result) {
  const std::string why =
      result.detail.contains("error") ? error_in(result.detail) : fmt::format("scored {:g}", result.score);
  return fmt::format("{}: {}: {}", row.origin, shown_text(gold), why);
}

void add_golds(const std::vector<const Row*>& rows, RewardFunction& reward, const DataLens& lens, DomainView& view) {
  view.golds = score_golds(rows, reward, lens.most_golds);
  if (!lens.tokenizer || lens.response_length == 0) return;
  for (const Row* row : rows)
    if (const auto gold = reward.gold_response(row->raw))
      // Bytes are never fewer than tokens, and most golds are short.
      view.long_golds += std::ssize(*gold) > lens.response_length &&
                         std::ssize(lens.tokenizer->encode(*gold, false, false)) > lens.response_length;
}

}  // namespace

Golds score_golds(const std::vector<const Row*>& rows, RewardFunction& reward, int64_t most) {
  Golds golds;
  const int64_t n = std::ssize(rows), count = std::min(n, most);
  for (int64_t i = 0; i < count; ++i) {
    const Row& row = *rows[i * n / count];
    const auto gold = reward.gold_response(row.raw);
    if (!gold) continue;
    const RewardResult result = reward.score(query_of(row, *gold));
    ++golds.asked;
    if (result.score >= 1)
      ++golds.right;
    else if (golds.wrong.size() < kShownWrong)
      golds.wrong.push_back(complaint(row, *gold, result));
  }
  return golds;
}

std::vector<DomainView> view_of(const std::vector<Row>& rows, const DomainRules& rules, const DataLens& lens) {
  std::vector<DomainView> views;
  for (const auto& [domain, its_rows] : by_domain(rows)) {
    DomainView& view = views.emplace_back(DomainView{.domain = domain, .num_rows = std::ssize(its_rows)});
    add_lengths(its_rows, lens, view);
    if (const auto rule = rules.find(domain); rule != rules.end()) add_golds(its_rows, *rule->second, lens, view);
  }
  return views;
}

std::string line_of(const DomainView& view, const DataLens& lens) {
  std::string line = fmt::format("{}{} rows; prompts in {}: {}", view.domain.empty() ? "" : view.domain + ": ",
                                 view.num_rows, lens.tokenizer ? "tokens" : "characters", to_text(view.prompts));
  if (view.dropped > 0) line += fmt::format("; {} dropped", view.dropped);
  if (view.golds.asked > 0) line += fmt::format("; {} of {} golds scored right", view.golds.right, view.golds.asked);
  return line;
}

std::vector<std::string> warnings_of(const DomainView& view, const DataLens& lens) {
  std::vector<std::string> warnings;
  const std::string of = view.domain.empty() ? "" : view.domain + ": ";
  if (view.dropped > 0)
    warnings.push_back(fmt::format("{}prompt_length = {}: {} of {} rows are longer and dropped; {} keeps all", of,
                                   lens.prompt_length, view.dropped, view.num_rows, view.prompts.max));
  if (view.long_golds > 0)
    warnings.push_back(fmt::format("{}response_length = {}: the bare answer of {} of {} rows is longer; raise it", of,
                                   lens.response_length, view.long_golds, view.num_rows));
  if (view.golds.right < view.golds.asked)
    warnings.push_back(
        fmt::format("{}{} of {} golds are not scored right, so no response to these rows can be; correct the rows, or "
                    "choose another reward:\n  {}",
                    of, view.golds.asked - view.golds.right, view.golds.asked, fmt::join(view.golds.wrong, "\n  ")));
  return warnings;
}

void try_out(const Row& row, RewardFunction& reward, const std::string& where) {
  reward.prepare();
  const RewardResult result = reward.score(query_of(row, row.ground_truth));
  if (const auto failure = failure_of(result.detail))
    throw user_error(
        "{}: gave no reward for {}, asked once with its ground truth as the response: {}", where, row.origin,
        *failure == RewardFailure::kTimeout
            ? "nothing came within timeout_s; let it flush each answer, as print(..., flush=True) does in Python"
            : error_in(result.detail));
}

}  // namespace roll
