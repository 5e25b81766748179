#include "evaluation/measured_set.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <functional>

#include "base/terminal.h"

namespace roll {

namespace {

using Groups = std::vector<std::vector<JudgedSample>>;  // samples of each prompt

Groups group_by_prompt(std::vector<JudgedSample> samples) {
  std::ranges::sort(samples, {}, [](const JudgedSample& s) { return std::pair(s.prompt, s.number); });
  Groups groups;
  for (JudgedSample& sample : samples) {
    if (groups.empty() || groups.back().front().prompt != sample.prompt) groups.emplace_back();
    groups.back().push_back(std::move(sample));
  }
  return groups;
}

PromptSamples judged_answers(const std::vector<JudgedSample>& group) {
  PromptSamples judged;
  for (const JudgedSample& sample : group)
    if (sample.is_judged) judged.push_back({.is_right = sample.score >= 1, .answer = sample.answer.value_or("")});
  return judged;
}

std::vector<std::string> find_domains_without_answers(const std::vector<JudgedSample>& samples) {
  std::map<std::string, bool> extracts_answer;
  for (const JudgedSample& sample : samples) extracts_answer[sample.domain] |= sample.answer.has_value();
  std::vector<std::string> domains;
  for (const auto& [domain, extracts] : extracts_answer)
    if (!extracts) domains.push_back(domain);
  return domains;
}

/// Returns the mean over a prompt's responses.
double mean_value(const std::vector<JudgedSample>& group, const std::function<double(const JudgedSample&)>& number) {
  double sum = 0;
  for (const JudgedSample& sample : group) sum += number(sample);
  return sum / static_cast<double>(group.size());
}

std::string at_k(const char* name, int64_t k) {
  return fmt::format("{}@{}", name, k);
}

}  // namespace

std::vector<int64_t> pass_at_ks(int64_t num_samples) {
  std::vector<int64_t> ks;
  for (int64_t k = 2; k < num_samples; k *= 2) ks.push_back(k);
  if (num_samples > 1) ks.push_back(num_samples);
  return ks;
}

MeasuredSet measured(std::vector<JudgedSample> samples, int64_t num_samples) {
  MeasuredSet set{
      .num_samples = num_samples, .numbers = {}, .domains_without_answers = find_domains_without_answers(samples)};
  const bool has_answers = set.domains_without_answers.empty();
  const Groups groups = group_by_prompt(std::move(samples));
  set.num_prompts = std::ssize(groups);
  std::vector<PromptSamples> judged;
  for (const auto& group : groups) judged.push_back(judged_answers(group));
  const auto add = [&](const std::string& name, int64_t least, const auto& statistic) {
    std::vector<double> prompt_values;
    for (const PromptSamples& prompt : judged)
      if (std::ssize(prompt) >= least) prompt_values.push_back(statistic(prompt));
    if (const auto estimate = estimate_mean(prompt_values)) set.numbers.emplace_back(name, *estimate);
  };
  const auto add_mean = [&](const std::string& name, const std::function<double(const JudgedSample&)>& number,
                            bool judged_only = false) {
    std::vector<double> prompt_values;
    for (std::vector<JudgedSample> group : groups) {
      if (judged_only) std::erase_if(group, [](const JudgedSample& sample) { return !sample.is_judged; });
      if (!group.empty()) prompt_values.push_back(mean_value(group, number));
    }
    if (const auto estimate = estimate_mean(prompt_values)) set.numbers.emplace_back(name, *estimate);
  };
  add(at_k("avg", num_samples), 1, average_at);
  for (const int64_t k : pass_at_ks(num_samples))
    add(at_k("pass", k), k, [k](const PromptSamples& prompt) { return pass_at(prompt, k); });
  if (has_answers)
    for (const int64_t k : pass_at_ks(num_samples))
      add(at_k("maj", k), k, [k](const PromptSamples& prompt) { return majority_at(prompt, k); });
  add_mean(
      "score", [](const JudgedSample& s) { return s.score; }, /*judged_only=*/true);
  add_mean("response_length", [](const JudgedSample& s) { return static_cast<double>(s.num_tokens); });
  add_mean("truncated", [](const JudgedSample& s) { return s.is_truncated; });
  if (has_answers)
    add_mean(
        "no_answer", [](const JudgedSample& s) { return s.answer.value_or("").empty(); }, /*judged_only=*/true);
  add_mean("unjudged", [](const JudgedSample& s) { return !s.is_judged; });
  return set;
}

const Estimate* MeasuredSet::find(const std::string& name) const {
  const auto found = std::ranges::find(numbers, name, [](const auto& number) { return number.first; });
  return found == numbers.end() ? nullptr : &found->second;
}

bool is_valid_set_name(const std::string& name) {
  const auto is_usual = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-'; };
  return !name.empty() && std::ranges::all_of(name, is_usual);
}

Metrics evaluation_metrics(const std::string& set, const MeasuredSet& numbers) {
  Metrics metrics;
  for (const auto& [name, estimate] : numbers.numbers) {
    metrics.add(fmt::format("val/{}/{}@mean", set, name), estimate.mean);
    if (estimate.standard_error) metrics.add(fmt::format("val/{}/{}/se@mean", set, name), *estimate.standard_error);
  }
  return metrics;
}

std::vector<std::string> evaluation_metric_names(const std::string& set, int64_t num_samples) {
  std::vector<std::string> names{at_k("avg", num_samples)};
  for (const char* name : {"pass", "maj"})
    for (const int64_t k : pass_at_ks(num_samples)) names.push_back(at_k(name, k));
  names.insert(names.end(), {"score", "response_length", "truncated", "no_answer", "unjudged"});
  std::vector<std::string> metrics;
  for (const std::string& name : names)
    for (const char* end : {"", "/se"}) metrics.push_back(fmt::format("val/{}/{}{}", set, name, end));
  return metrics;
}

namespace {

/// Formats "0.3500 ± 0.1500" with `with_error`, else the mean alone; "-" if there is no estimate.
std::string format_cell(const Estimate* estimate, bool with_error = false, int digits = 4) {
  if (!estimate) return "-";
  const std::string mean = fmt::format("{:.{}f}", estimate->mean, digits);
  return with_error && estimate->standard_error ? fmt::format("{} ± {:.{}f}", mean, *estimate->standard_error, digits)
                                                : mean;
}

std::vector<std::string> table_row(const std::string& name, const MeasuredSet& set) {
  const int64_t k = set.num_samples;
  return {name,
          fmt::format("{}", set.num_prompts),
          fmt::format("{}", k),
          format_cell(set.find(at_k("avg", k)), /*with_error=*/true),
          format_cell(set.find(at_k("pass", k))),
          format_cell(set.find(at_k("maj", k))),
          format_cell(set.find("score")),
          format_cell(set.find("response_length"), /*with_error=*/false, /*digits=*/1),
          format_cell(set.find("truncated")),
          format_cell(set.find("no_answer"))};
}

/// Returns one line: `heading`, then each set with the text that `describe` returns for it. "" if all texts are empty.
std::string set_line(const std::map<std::string, MeasuredSet>& sets, const char* heading,
                     const std::function<std::string(const MeasuredSet&)>& describe) {
  std::vector<std::string> set_texts;
  for (const auto& [name, set] : sets)
    if (const std::string set_text = describe(set); !set_text.empty())
      set_texts.push_back(fmt::format("{} ({})", name, set_text));
  return set_texts.empty() ? "" : fmt::format("{}: {}\n", heading, fmt::join(set_texts, ", "));
}

}  // namespace

std::string evaluation_table(const std::map<std::string, MeasuredSet>& sets) {
  std::vector<std::vector<std::string>> lines{
      {"set", "prompts", "samples k", "avg@k", "pass@k", "maj@k", "score", "length", "truncated", "no answer"}};
  for (const auto& [name, set] : sets) lines.push_back(table_row(name, set));
  std::vector<int> widths(lines[0].size());
  for (const auto& line : lines)
    for (size_t c = 0; c < line.size(); ++c) widths[c] = std::max(widths[c], display_width(line[c]));
  std::string text;
  for (const auto& line : lines) {
    for (size_t c = 0; c < line.size(); ++c) {
      const std::string padding(static_cast<size_t>(widths[c] - display_width(line[c])), ' ');
      text += c == 0 ? line[c] + padding : "  " + padding + line[c];
    }
    text += "\n";
  }
  text +=
      set_line(sets, "without maj@k and no answer, because these rewards extract no answers",
               [](const MeasuredSet& set) { return fmt::format("{}", fmt::join(set.domains_without_answers, ", ")); });
  return text + set_line(sets, "share of responses without a score", [](const MeasuredSet& set) {
           const Estimate* unjudged = set.find("unjudged");
           return unjudged && unjudged->mean > 0 ? format_cell(unjudged) : "";
         });
}

}  // namespace roll
