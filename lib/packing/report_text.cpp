#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "packing/report.h"

namespace roll {

namespace {

constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
constexpr int kBarWidth = 40;
constexpr int64_t kHistogramRows = 12;

/// Draws `share` of kBarWidth characters, to an eighth of one, then blanks.
std::string bar(double share) {
  const int eighths = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * kBarWidth * 8));
  std::string text;
  for (int i = 0; i < eighths / 8; ++i) text += "█";
  text += kEighths[eighths % 8];
  const int used = eighths / 8 + (eighths % 8 > 0);
  return text + std::string(static_cast<size_t>(kBarWidth - used), ' ');
}

std::string lengths_text(const PackReport& report) {
  std::vector<int64_t> sorted = report.lengths;
  std::sort(sorted.begin(), sorted.end());
  double total = 0;
  for (const int64_t length : sorted) total += static_cast<double>(length);
  std::string text =
      fmt::format("lengths: {} to {} tokens, mean {:.1f}, median {}, 99th percentile {}\n", grouped(sorted.front()),
                  grouped(sorted.back()), total / static_cast<double>(sorted.size()), grouped(quantile(sorted, 0.5)),
                  grouped(quantile(sorted, 0.99)));
  const Histogram bins = histogram(sorted, kHistogramRows);
  const int64_t most = *std::max_element(bins.counts.begin(), bins.counts.end());
  for (size_t b = 0; b < bins.counts.size(); ++b)
    text += fmt::format("  {:>7} {} {}\n", "≤" + grouped(bins.width * static_cast<int64_t>(b + 1)),
                        bar(static_cast<double>(bins.counts[b]) / static_cast<double>(most)), grouped(bins.counts[b]));
  return text;
}

std::string summary_line(const std::string& algorithm, const PlanSummary& s, int64_t budget, bool counts_flops) {
  return fmt::format("  {:<16}{:>13.1f}{:>9}{:>9}{:>11}{:>9}{:>15}{:>9}{:>9}{:>9}\n", algorithm, s.micro_batches,
                     budget > 0 ? percent(s.fill) : "-", percent(s.padding),
                     counts_flops ? percent(s.rank_imbalance) : "-", percent(s.rank_imbalance_tokens),
                     percent(s.micro_batch_imbalance), percent(s.saved), s.fillers, s.over_budget);
}

/// Returns "budget 16,384 tokens, alignment 4".
std::string rule_text(const StageReport& stage) {
  if (stage.budget == 0) return "not packed";
  return fmt::format("budget {} tokens{}", grouped(stage.budget),
                     stage.alignment > 1 ? fmt::format(", alignment {}", stage.alignment) : "");
}

std::string stage_table(const StageReport& stage, const PackReport& report) {
  const auto& first_batch = stage.batches.front();
  int64_t sequences = 0;
  for (const auto& rank : first_batch.plans.front().ranks)
    for (const auto& m : rank) sequences += m.num_sequences;
  const auto num_batches = std::ssize(stage.batches);
  const std::string batches_text = !stage.trains      ? "each step's "
                                   : num_batches == 1 ? "1 mini-batch of "
                                                      : grouped(num_batches) + " mini-batches of ";
  std::string text =
      fmt::format("\n{}; {}\n{}{} sequences\n", stage_title(stage), rule_text(stage), batches_text, grouped(sequences));
  text += fmt::format("  {:<16}{:>13}{:>9}{:>9}{:>20}{:>15}{:>9}{:>9}{:>9}\n", "", "micro-batches", "", "padding",
                      "imbalance of ranks", "imbalance of", work_name(report), "", "over");
  text += fmt::format("  {:<16}{:>13}{:>9}{:>9}{:>11}{:>9}{:>15}{:>9}{:>9}{:>9}\n", "", "per rank", "fill", "(align)",
                      "FLOPs", "tokens", "micro-batches", "saved", "fillers", "budget");
  for (size_t a = 0; a < stage.algorithms.size(); ++a)
    text += summary_line(stage.algorithms[a], summarise(stage, a), stage.budget, report.counts_flops);
  return text;
}

/// Draws a bar for each micro-batch of the first batch: its fill, or without a budget its share of the largest one.
std::string stage_bars(const StageReport& stage, int64_t max_bars) {
  const BatchReport& batch = stage.batches.front();
  const BatchStats& stats = batch.plans.front();
  int64_t full = stage.budget;
  if (full == 0)
    for (const auto& rank : stats.ranks)
      for (const auto& m : rank) full = std::max(full, m.tokens);
  std::string text =
      fmt::format("  step {}{}, {}:\n", batch.step, stage.trains ? fmt::format(", mini-batch {}", batch.number) : "",
                  stage.algorithms.front());
  int64_t bars = 0;
  for (size_t rank = 0; rank < stats.ranks.size(); ++rank)
    for (size_t k = 0; k < stats.ranks[rank].size() && bars < max_bars; ++k, ++bars) {
      const MicroBatchStats& m = stats.ranks[rank][k];
      const double share = static_cast<double>(m.tokens) / static_cast<double>(full);
      text += fmt::format("  {:<9}{} {:>7} {:>9} tokens {:>5} sequences\n", k == 0 ? fmt::format("rank {}", rank) : "",
                          bar(share), percent(share), grouped(m.tokens), m.num_sequences);
    }
  const int64_t total = stats.num_micro_batches() * std::ssize(stats.ranks);
  if (bars < total) text += fmt::format("  ... and {} more micro-batches; --json lists all\n", grouped(total - bars));
  return text;
}

std::string budgets_text(const PackReport& report) {
  if (report.budgets.empty()) return "";
  const bool has_memory = report.budgets.front().memory.has_value();
  std::string text = fmt::format("\nother training budgets, load_balance, first step; {}\n",
                                 has_memory ? "memory of a rank in GB, estimated" : kNoMemory);
  text += fmt::format("  {:>10}{:>15}{:>9}{:>12}", "tokens", "micro-batches", "fill", "imbalance");
  text += has_memory ? fmt::format("{:>13}{:>9}\n", "activations", "total") : "\n";
  for (const auto& row : report.budgets) {
    text += fmt::format("  {:>10}{:>15.1f}{:>9}{:>12}", grouped(row.budget), row.micro_batches, percent(row.fill),
                        percent(row.rank_imbalance));
    if (row.memory)
      text += fmt::format("{:>13.3f}{:>9.2f}", row.memory->activation_bytes / 1e9, row.memory->total_bytes / 1e9);
    text += fmt::format("{}{}\n", row.is_configured ? "  configured" : "", row.is_suggested ? "  suggested" : "");
  }
  return text + fmt::format("suggested: {}\n", report.budget_rule);
}

}  // namespace

std::string report_text(const PackReport& report, int64_t max_bars) {
  std::string text =
      fmt::format("{} sequences in {} {} from {}; {} data-parallel {}\n", grouped(std::ssize(report.lengths)),
                  report.num_steps, report.num_steps == 1 ? "step" : "steps", report.source, report.num_ranks,
                  report.num_ranks == 1 ? "rank" : "ranks");
  for (const auto& note : report.notes) text += note + "\n";
  text += lengths_text(report);
  for (const auto& stage : report.stages) text += stage_table(stage, report) + stage_bars(stage, max_bars);
  return text + budgets_text(report);
}

}  // namespace roll
