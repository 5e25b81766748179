#include "preview/data_report.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/utf8.h"
#include "data/domains.h"
#include "data/leaks.h"
#include "data/row_files.h"
#include "data/tokenise.h"
#include "track/progress.h"

namespace roll {

namespace {

constexpr int64_t kNoGoldLimit = 1'000'000'000;
constexpr size_t kShownFaults = 10, kShownCounts = 10, kShownPrompt = 600;

ViewSettings view_settings(const DataInspection& inspection) {
  return {inspection.tokenizer, inspection.source.prompt_length, inspection.response_length, kNoGoldLimit};
}

/// Inspects rows in batches.
class DataInspector {
 public:
  DataInspector(const DataInspection& inspection, DataReport& report)
      : inspection_(inspection),
        report_(report),
        prompts_(inspection.lists_all ? std::numeric_limits<size_t>::max() : kShownOrigins,
                 inspection.source.rules != nullptr) {
    if (inspection.tokenizer) encode_.emplace(inspection.source, *inspection.tokenizer);
  }

  void inspect() {
    if (inspection_.log) progress_.emplace(*inspection_.log, "rows", 0, "rows");
    read_batches(inspection_.source.data,
                 {.take = [&](std::vector<Row>& rows) { add(rows); },
                  .note_layout = [&](const std::string& note) { report_.layouts.push_back(note); },
                  .refuse = [&](const BadRow& bad) { report_.bad.emplace_back(bad.what()); }});
    report_.num_lines = num_rows_ + std::ssize(report_.bad) - num_unusable_;
    report_.facts = facts_.facts();
    progress_.reset();
  }
  const RowStore& rows() const { return rows_; }
  const PromptWarnings& prompts() const { return prompts_; }

 private:
  void add(std::vector<Row>& rows) {
    num_rows_ += std::ssize(rows);
    if (progress_) progress_->advance(std::ssize(rows));
    for (const Row& row : rows) facts_.add(row);
    keep_usable(rows, [&](Row& row) { assign_domain(row); });
    if (inspection_.source.rules)
      keep_usable(rows, [&](Row& row) { check_reward_rows({&row, 1}, *inspection_.source.rules); });
    if (encode_) encode_rows(rows);
    for (const Row& row : rows) {
      prompts_.add(row);
      rows_.add(row);
    }
  }

  /// Removes rows for which `use` throws, and reports them as bad.
  template <class F>
  void keep_usable(std::vector<Row>& rows, const F& use) {
    std::erase_if(rows, [&](Row& row) {
      try {
        use(row);
        return false;
      } catch (const UserError& e) {
        report_.bad.emplace_back(e.what());
        ++num_unusable_;
        return true;
      }
    });
  }

  void assign_domain(Row& row) const {
    if (inspection_.one_domain) {
      row.domain = *inspection_.one_domain;
    } else if (!inspection_.source.domains.empty()) {
      assign_domains({&row, 1}, inspection_.source.domains);
    }
  }

  /// Tokenizes in threads; errors are reported in row order.
  void encode_rows(std::vector<Row>& rows) {
    std::vector<std::string> faults(rows.size());
    for_each_in_threads(std::ssize(rows), std::thread::hardware_concurrency(), [&](int64_t i) {
      try {
        rows[i].prompt_ids = (*encode_)(rows[i]);
      } catch (const UserError& e) {
        faults[i] = e.what();
      }
    });
    size_t next = 0;
    keep_usable(rows, [&](Row&) {
      if (const std::string& fault = faults[next++]; !fault.empty()) throw UserError(fault);
    });
  }

  const DataInspection& inspection_;
  DataReport& report_;
  std::optional<PromptEncoder> encode_;
  RowFactsCollector facts_;
  PromptWarnings prompts_;
  RowStore rows_;
  std::optional<Progress> progress_;
  int64_t num_rows_ = 0, num_unusable_ = 0;  // num_unusable_ is a part of num_rows_
};

void warn_of_overlap(const RowStore& rows, const DataInspection& inspection, std::vector<std::string>& warnings) {
  const size_t max_listed = inspection.lists_all ? std::numeric_limits<size_t>::max() : kShownOrigins;
  for (const DataArgs& set : inspection.validation) {
    RowStore validation;
    read_batches(set, {.take =
                           [&](std::vector<Row>& batch) {
                             for (const Row& row : batch) validation.add(row);
                           },
                       .note_layout = [](const std::string&) {},
                       .refuse = [](const BadRow&) {}});
    if (const std::string text = overlap_warning(rows.prompts(), validation.prompts(), max_listed); !text.empty())
      warnings.push_back(text);
  }
}

std::string first_prompt_text(const RowStore& rows, const Tokenizer* tokenizer) {
  if (rows.size() == 0) return "";
  const Row first_row = rows.at(0);
  return tokenizer ? tokenizer->decode(first_row.prompt_ids) : prompt_text(first_row);
}

void warn_of_repeats(const RowFacts& facts, std::vector<std::string>& warnings) {
  if (facts.contradicting > 0)
    warnings.push_back(fmt::format(
        "prompts repeated with a different ground truth: {}, the first: {}; one of the two answers is wrong",
        facts.contradicting, facts.first_contradiction));
  if (facts.repeated > facts.contradicting)
    warnings.push_back(fmt::format("rows that repeat an earlier row: {}; training uses every repetition",
                                   facts.repeated - facts.contradicting));
}

}  // namespace

void require_usable(const DataReport& report) {
  if (!report.bad.empty())
    throw user_error("{} of {} rows cannot be used, the first: {}", report.bad.size(), report.num_lines,
                     report.bad.front());
}

DataReport inspect_data(const DataInspection& inspection) {
  DataReport report;
  DataInspector data(inspection, report);
  data.inspect();
  const ViewSettings settings = view_settings(inspection);
  const DomainRules no_rules;
  const DomainRules* const rules = inspection.source.rules ? inspection.source.rules : &no_rules;
  report.views = make_domain_views(data.rows(), *rules, settings);
  report.first_prompt = first_prompt_text(data.rows(), inspection.tokenizer);
  warn_of_repeats(report.facts, report.warnings);
  for (std::string& warning : data.prompts().all()) report.warnings.push_back(std::move(warning));
  warn_of_overlap(data.rows(), inspection, report.warnings);
  for (const DomainView& view : report.views)
    for (std::string& warning : domain_warnings(view, settings)) report.warnings.push_back(std::move(warning));
  return report;
}

std::string to_text(const DataReport& report, const DataInspection& inspection) {
  const ViewSettings settings = view_settings(inspection);
  std::string text = fmt::format("rows: {}, {} unusable\n", report.num_lines, report.bad.size());
  const size_t shown = inspection.lists_all ? report.bad.size() : std::min(kShownFaults, report.bad.size());
  for (size_t i = 0; i < shown; ++i) text += fmt::format("  {}\n", report.bad[i]);
  if (report.bad.size() > shown) text += fmt::format("  and {} more; --all lists them\n", report.bad.size() - shown);
  const size_t max_listed = inspection.lists_all ? std::numeric_limits<size_t>::max() : kShownCounts;
  for (const std::string& layout : report.layouts)
    text += fmt::format("{}; these keys can be set in data_args\n", layout);
  text += fmt::format("columns: {}\n", counts_text(report.facts.columns, max_listed));
  text += fmt::format("tags: {}\n", counts_text(report.facts.tags, max_listed));
  if (!report.facts.domains.empty())
    text += fmt::format("domains: {}\n", counts_text(report.facts.domains, max_listed));
  for (const DomainView& view : report.views) text += summary_line(view, settings) + "\n";
  if (report.first_prompt.empty()) return text;
  text += inspection.tokenizer ? "first prompt, as the model sees it:\n" : "first prompt:\n";
  const bool is_cut = report.first_prompt.size() > kShownPrompt;
  return text + fmt::format("{}{}\n", whole_characters(report.first_prompt, kShownPrompt), is_cut ? " ..." : "");
}

}  // namespace roll
