#include "evaluation/measured_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

namespace roll {

namespace {

using Groups = std::vector<std::vector<JudgedSample>>;  // by prompt

Groups groups_of(std::vector<JudgedSample> samples) {
  std::ranges::sort(samples, {}, [](const JudgedSample& s) { return std::pair(s.prompt, s.number); });
  Groups groups;
  for (JudgedSample& sample : samples) {
    if (groups.empty() || groups.back().front().prompt != sample.prompt) groups.emplace_back();
    groups.back().push_back(std::move(sample));
  }
  return groups;
}

PromptSamples judged_of(const std::vector<JudgedSample>& group) {
  PromptSamples judged;
  for (const JudgedSample& sample : group)
    if (sample.is_judged) judged.push_back({.is_right = sample.score >= 1, .answer = sample.answer.value_or("")});
  return judged;
}

/// Whether the reward of each domain says of some response what it answers.
bool have_answers(const std::vector<JudgedSample>& samples) {
  std::set<std::string> domains, with_answers;
  for (const JudgedSample& sample : samples) {
    domains.insert(sample.domain);
    if (sample.answer) with_answers.insert(sample.domain);
  }
  return domains == with_answers;
}

/// The mean over a prompt's responses.
double mean_of(const std::vector<JudgedSample>& group, const std::function<double(const JudgedSample&)>& number) {
  double sum = 0;
  for (const JudgedSample& sample : group) sum += number(sample);
  return sum / static_cast<double>(group.size());
}

std::string at_k(const char* name, int64_t k) {
  return fmt::format("{}@{}", name, k);
}

}  // namespace

std::vector<int64_t> ks_of(int64_t num_samples) {
  std::vector<int64_t> ks;
  for (int64_t k = 2; k < num_samples; k *= 2) ks.push_back(k);
  if (num_samples > 1) ks.push_back(num_samples);
  return ks;
}

MeasuredSet measured(std::vector<JudgedSample> samples, int64_t num_samples) {
  MeasuredSet numbers;
  const bool tell_answers = have_answers(samples);
  const Groups groups = groups_of(std::move(samples));
  std::vector<PromptSamples> judged;
  for (const auto& group : groups) judged.push_back(judged_of(group));
  const auto add = [&](const std::string& name, int64_t least, const auto& number_of) {
    std::vector<double> of_prompts;
    for (const PromptSamples& prompt : judged)
      if (std::ssize(prompt) >= least) of_prompts.push_back(number_of(prompt));
    if (const auto estimate = estimate_of(of_prompts)) numbers.emplace_back(name, *estimate);
  };
  const auto add_mean = [&](const std::string& name, const std::function<double(const JudgedSample&)>& number,
                            bool of_judged = false) {
    std::vector<double> of_prompts;
    for (std::vector<JudgedSample> group : groups) {
      if (of_judged) std::erase_if(group, [](const JudgedSample& sample) { return !sample.is_judged; });
      if (!group.empty()) of_prompts.push_back(mean_of(group, number));
    }
    if (const auto estimate = estimate_of(of_prompts)) numbers.emplace_back(name, *estimate);
  };
  add(at_k("avg", num_samples), 1, average_at);
  for (const int64_t k : ks_of(num_samples))
    add(at_k("pass", k), k, [k](const PromptSamples& prompt) { return pass_at(prompt, k); });
  if (tell_answers)
    for (const int64_t k : ks_of(num_samples))
      add(at_k("maj", k), k, [k](const PromptSamples& prompt) { return majority_at(prompt, k); });
  add_mean(
      "score", [](const JudgedSample& s) { return s.score; }, /*of_judged=*/true);
  add_mean("response_length", [](const JudgedSample& s) { return static_cast<double>(s.num_tokens); });
  add_mean("truncated", [](const JudgedSample& s) { return s.is_truncated; });
  if (tell_answers)
    add_mean(
        "no_answer", [](const JudgedSample& s) { return s.answer.value_or("").empty(); }, /*of_judged=*/true);
  add_mean("unjudged", [](const JudgedSample& s) { return !s.is_judged; });
  return numbers;
}

Metrics set_metrics(const std::string& set, const MeasuredSet& numbers) {
  Metrics metrics;
  for (const auto& [name, estimate] : numbers) {
    metrics.add(fmt::format("val/{}/{}@mean", set, name), estimate.mean);
    if (estimate.standard_error) metrics.add(fmt::format("val/{}/{}/se@mean", set, name), *estimate.standard_error);
  }
  return metrics;
}

std::vector<std::string> set_metric_names(const std::string& set, int64_t num_samples) {
  std::vector<std::string> names{at_k("avg", num_samples)};
  for (const char* name : {"pass", "maj"})
    for (const int64_t k : ks_of(num_samples)) names.push_back(at_k(name, k));
  names.insert(names.end(), {"score", "response_length", "truncated", "no_answer", "unjudged"});
  std::vector<std::string> metrics;
  for (const std::string& name : names)
    for (const char* end : {"", "/se"}) metrics.push_back(fmt::format("val/{}/{}{}", set, name, end));
  return metrics;
}

std::string table_of(const std::map<std::string, MeasuredSet>& sets) {
  std::string text;
  for (const auto& [set, numbers] : sets) {
    text += set + ":\n";
    for (const auto& [name, estimate] : numbers) {
      text += fmt::format("  {:<16} {:>10.4f}", name, estimate.mean);
      text += estimate.standard_error ? fmt::format(" ± {:.4f}\n", *estimate.standard_error) : "\n";
    }
  }
  return text;
}

}  // namespace roll
