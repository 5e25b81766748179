#include "preview/data_report.h"

#include <algorithm>
#include <limits>
#include <thread>

#include "base/error.h"
#include "base/utf8.h"
#include "data/domains.h"
#include "data/leaks.h"
#include "data/tokenise.h"

namespace roll {

namespace {

constexpr int64_t kAllGolds = 1'000'000'000;
constexpr size_t kShownFaults = 10, kShownCounts = 10, kShownPrompt = 600;

DataLens lens_of(const DataQuestion& question) {
  return {question.tokenizer, question.source.prompt_length, question.response_length, kAllGolds};
}

/// Calls `use` for each row; a row for which it throws moves to the bad ones.
template <class F>
void keep_usable(FoundRows& found, const F& use) {
  std::erase_if(found.rows, [&](Row& row) {
    try {
      use(row);
      return false;
    } catch (const UserError& e) {
      found.bad.emplace_back(e.what());
      return true;
    }
  });
}

void assign_domain(Row& row, const DataQuestion& question) {
  if (question.one_domain) {
    row.domain = *question.one_domain;
  } else if (!question.source.domains.empty()) {
    assign_domains({&row, 1}, question.source.domains);
  }
}

/// Encodes prompts in threads, and then reports the faults in the order of the rows.
void encode_rows(FoundRows& found, const DataQuestion& question) {
  const PromptEncoder encode(question.source, *question.tokenizer);
  std::vector<std::string> faults(found.rows.size());
  for_each_in_threads(std::ssize(found.rows), std::thread::hardware_concurrency(), [&](int64_t i) {
    try {
      found.rows[i].prompt_ids = encode(found.rows[i]);
    } catch (const UserError& e) {
      faults[i] = e.what();
    }
  });
  size_t next = 0;
  keep_usable(found, [&](Row&) {
    if (const std::string& fault = faults[next++]; !fault.empty()) throw UserError(fault);
  });
}

void warn_of_leaks(const std::vector<Row>& rows, const DataQuestion& question, std::vector<std::string>& warnings) {
  const size_t most = question.lists_all ? rows.size() : kShownOrigins;
  for (std::string& warning : warnings_of_prompts(rows, most, question.source.rules != nullptr))
    warnings.push_back(std::move(warning));
  if (!question.validation || question.validation->file_name.empty()) return;
  const DataArgs& data = *question.validation;
  const FoundRows validation = find_rows(data.file_name, {data.messages, data.prompt});
  const std::string shared = warning_of_shared(keyed_rows(rows), keyed_rows(validation.rows), most);
  if (!shared.empty()) warnings.push_back(shared);
}

std::string first_prompt_of(const std::vector<Row>& rows, const Tokenizer* tokenizer) {
  if (rows.empty()) return "";
  return tokenizer ? tokenizer->decode(rows.front().prompt_ids) : prompt_text(rows.front());
}

void warn_of_repeats(const RowFacts& facts, std::vector<std::string>& warnings) {
  if (facts.contradicting > 0)
    warnings.push_back(
        fmt::format("prompts repeated with a different ground truth: {}, the first: {}; one of the two "
                    "is wrong",
                    facts.contradicting, facts.first_contradiction));
  if (facts.repeated > facts.contradicting)
    warnings.push_back(
        fmt::format("rows that repeat an earlier one: {}; the prompt is trained on as often as it is there",
                    facts.repeated - facts.contradicting));
}

}  // namespace

void require_usable(const DataReport& report) {
  if (!report.bad.empty())
    throw user_error("{} of {} rows cannot be used, the first: {}", report.bad.size(), report.num_lines,
                     report.bad.front());
}

DataReport look_at(const DataQuestion& question) {
  FoundRows found =
      find_rows(question.source.data.file_name, {question.source.data.messages, question.source.data.prompt});
  DataReport report{.num_lines = std::ssize(found.rows) + std::ssize(found.bad), .facts = facts_of(found.rows)};
  keep_usable(found, [&](Row& row) { assign_domain(row, question); });
  if (question.source.rules)
    keep_usable(found, [&](Row& row) { check_reward_rows({&row, 1}, *question.source.rules); });
  if (question.tokenizer) encode_rows(found, question);
  const DataLens lens = lens_of(question);
  const DomainRules nobody;
  const DomainRules* const rules = question.source.rules ? question.source.rules : &nobody;
  report.views = view_of(found.rows, *rules, lens);
  report.first_prompt = first_prompt_of(found.rows, question.tokenizer);
  warn_of_repeats(report.facts, report.warnings);
  warn_of_leaks(found.rows, question, report.warnings);
  for (const DomainView& view : report.views)
    for (std::string& warning : warnings_of(view, lens)) report.warnings.push_back(std::move(warning));
  report.bad = std::move(found.bad);
  return report;
}

std::string to_text(const DataReport& report, const DataQuestion& question) {
  const DataLens lens = lens_of(question);
  std::string text = fmt::format("rows: {}, of which {} cannot be used\n", report.num_lines, report.bad.size());
  const size_t shown = question.lists_all ? report.bad.size() : std::min(kShownFaults, report.bad.size());
  for (size_t i = 0; i < shown; ++i) text += fmt::format("  {}\n", report.bad[i]);
  if (report.bad.size() > shown) text += fmt::format("  and {} more; --all lists them\n", report.bad.size() - shown);
  const size_t most = question.lists_all ? std::numeric_limits<size_t>::max() : kShownCounts;
  text += fmt::format("columns: {}\n", counts_text(report.facts.columns, most));
  text += fmt::format("tags: {}\n", counts_text(report.facts.tags, most));
  if (!report.facts.domains.empty()) text += fmt::format("domains: {}\n", counts_text(report.facts.domains, most));
  for (const DomainView& view : report.views) text += line_of(view, lens) + "\n";
  if (report.first_prompt.empty()) return text;
  text += question.tokenizer ? "first prompt, as the model sees it:\n" : "first prompt:\n";
  const bool is_cut = report.first_prompt.size() > kShownPrompt;
  return text + fmt::format("{}{}\n", whole_characters(report.first_prompt, kShownPrompt), is_cut ? " ..." : "");
}

}  // namespace roll
