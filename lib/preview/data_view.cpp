#include "preview/data_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"

namespace roll {

namespace {

/// Counts the characters of the contents; template text depends on the model.
int64_t count_characters(const Row& row) {
  if (!row.messages) return num_characters(row.prompt);
  int64_t sum = 0;
  for (const Json& message : *row.messages) sum += num_characters(message["content"].get_ref<const std::string&>());
  return sum;
}

void add_lengths(const RowStore& rows, const std::vector<int64_t>& indices, const ViewSettings& settings,
                 DomainView& view) {
  std::vector<int64_t> lengths;
  for (const int64_t i : indices) {
    const Row row = rows.at(i);
    lengths.push_back(settings.tokenizer ? std::ssize(row.prompt_ids) : count_characters(row));
  }
  view.shortest = *std::ranges::min_element(lengths);
  if (settings.tokenizer && settings.prompt_length > 0)
    view.dropped = std::ranges::count_if(lengths, [&](int64_t n) { return n == 0 || n > settings.prompt_length; });
  view.prompts = summarise_lengths(std::move(lengths));
}

void add_golds(const RowStore& rows, const std::vector<int64_t>& indices, RewardFunction& reward,
               const ViewSettings& settings, DomainView& view) {
  view.golds = score_golds(rows, indices, reward, settings.max_golds);
  if (!settings.tokenizer || settings.response_length == 0) return;
  for (const int64_t i : indices)
    if (const auto gold = reward.gold_response(rows.at(i).raw))
      // A text never has more tokens than bytes, so short golds need no tokenizer.
      view.long_golds += std::ssize(*gold) > settings.response_length &&
                         std::ssize(settings.tokenizer->encode(*gold, false, false)) > settings.response_length;
}

}  // namespace

std::vector<DomainView> make_domain_views(const RowStore& rows, const DomainRules& rules,
                                          const ViewSettings& settings) {
  std::vector<DomainView> views;
  for (const auto& [name, domain] : rows.domains()) {
    DomainView& view = views.emplace_back(DomainView{.domain = name, .num_rows = std::ssize(domain.rows)});
    add_lengths(rows, domain.rows, settings, view);
    if (const auto rule = rules.find(name); rule != rules.end())
      add_golds(rows, domain.rows, *rule->second, settings, view);
  }
  return views;
}

std::string summary_line(const DomainView& view, const ViewSettings& settings) {
  std::string line = fmt::format("{}{} rows; prompts in {}: {}", view.domain.empty() ? "" : view.domain + ": ",
                                 view.num_rows, settings.tokenizer ? "tokens" : "characters", to_text(view.prompts));
  if (view.dropped > 0) line += fmt::format("; {} dropped", view.dropped);
  if (view.golds.scored > 0)
    line += fmt::format("; {} of {} gold answers scored as right", view.golds.right, view.golds.scored);
  return line;
}

std::vector<std::string> domain_warnings(const DomainView& view, const ViewSettings& settings) {
  std::vector<std::string> warnings;
  const std::string prefix = view.domain.empty() ? "" : view.domain + ": ";
  if (view.dropped > 0)
    warnings.push_back(
        fmt::format("{}prompt_length = {}: {} of {} rows are longer and are dropped; a prompt_length of {} keeps all",
                    prefix, settings.prompt_length, view.dropped, view.num_rows, view.prompts.max));
  if (view.long_golds > 0)
    warnings.push_back(
        fmt::format("{}response_length = {}: the gold answer alone is longer in {} of {} rows; raise response_length",
                    prefix, settings.response_length, view.long_golds, view.num_rows));
  if (view.golds.right < view.golds.scored)
    warnings.push_back(fmt::format(
        "{}{} of {} gold answers are not scored as right, so no response to these rows can be right; correct the rows, "
        "or choose another reward:\n  {}",
        prefix, view.golds.scored - view.golds.right, view.golds.scored, fmt::join(view.golds.wrong_examples, "\n  ")));
  return warnings;
}

}  // namespace roll
