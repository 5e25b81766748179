#include <fmt/format.h>

#include <algorithm>

#include "base/html.h"
#include "packing/report.h"

namespace roll {

namespace {

// Limits for the page, since browsers cannot show huge plans; the page mentions omissions.
constexpr size_t kMostRanks = 32;
constexpr size_t kMostColumns = 128;
constexpr size_t kMostBatches = 400;
constexpr int64_t kBins = 48;

constexpr const char* kStyle = R"(
:root { --page: #f6f7f9; --card: #fff; --ink: #1b2330; --soft: #5c6878; --line: #dde2e9; --a: #2f6fb0; --b: #6aa5dc; --idle: #e7b9a0; --good: #2c7a4b; }
@media (prefers-color-scheme: dark) {
  :root { --page: #12161c; --card: #1a2028; --ink: #e6ebf2; --soft: #9aa7b8; --line: #2c3542; --a: #5b9bd8; --b: #3a6c9c; --idle: #7a4a35; --good: #6cc08d; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1120px; padding: 24px 20px 60px; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 24px; margin: 0 0 4px; } h2 { font-size: 18px; margin: 0 0 4px; } h3 { font-size: 14px; margin: 18px 0 6px; }
p { margin: 2px 0 10px; color: var(--soft); overflow-wrap: anywhere; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 18px 20px; margin: 18px 0; }
.tiles { display: flex; flex-wrap: wrap; gap: 12px; margin: 16px 0 0; }
.tile { flex: 1 1 130px; background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 10px 14px; }
.tile b { display: block; font-size: 22px; font-variant-numeric: tabular-nums; } .tile span { color: var(--soft); font-size: 13px; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 5px 10px; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { color: var(--soft); font-weight: 500; font-size: 13px; vertical-align: bottom; } th:first-child, td:first-child { text-align: left; }
tr.marked td { font-weight: 600; } .badge { color: var(--good); font-weight: 500; font-size: 13px; }
.columns { display: flex; align-items: flex-end; gap: 2px; height: 150px; border-bottom: 1px solid var(--line); }
.columns i { flex: 1 1 0; min-width: 1px; background: var(--a); border-radius: 2px 2px 0 0; }
.axis { display: flex; justify-content: space-between; color: var(--soft); font-size: 12px; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 440px), 1fr)); gap: 28px; }
.lane { display: grid; grid-template-columns: 54px 1fr 56px; gap: 8px; align-items: center; margin: 5px 0; font-size: 12px; color: var(--soft); }
.lane > :last-child { text-align: right; font-variant-numeric: tabular-nums; }
.fills { display: flex; gap: 2px; height: 44px; min-width: 0; }
.fills i { flex: 1 1 0; min-width: 0; max-width: 60px; display: flex; align-items: flex-end; background: color-mix(in srgb, var(--line) 55%, transparent); }
.fills b { width: 100%; background: var(--a); }
.track { display: flex; height: 22px; min-width: 0; background: repeating-linear-gradient(45deg, var(--idle) 0 4px, transparent 4px 8px); }
.track i { background: var(--a); } .track i:nth-child(even) { background: var(--b); }
details { margin-top: 16px; } summary { cursor: pointer; color: var(--soft); }
dt { font-weight: 600; margin-top: 8px; } dd { margin: 0; color: var(--soft); }
)";

std::string tile(const std::string& value, const std::string& label) {
  return fmt::format("<div class=\"tile\"><b>{}</b><span>{}</span></div>\n", value, label);
}

std::string header(const PackReport& report) {
  int64_t tokens = 0, over = 0;
  for (const int64_t length : report.lengths) tokens += length;
  for (const auto& stage : report.stages) over += summarise(stage, 0).over_budget;
  std::string html = fmt::format("<h1>Packing of {}</h1>\n<p>Sequences from {}; {} data-parallel {}.</p>\n",
                                 escaped_html(report.config), escaped_html(report.source), report.num_ranks,
                                 report.num_ranks == 1 ? "rank" : "ranks");
  for (const auto& note : report.notes) html += "<p>" + escaped_html(note) + "</p>\n";
  html += "<div class=\"tiles\">\n" + tile(grouped(std::ssize(report.lengths)), "sequences") +
          tile(grouped(tokens), "tokens") + tile(grouped(report.num_steps), report.num_steps == 1 ? "step" : "steps");
  const StageReport& training = report.stages.front();
  if (training.budget > 0) {
    html += tile(grouped(training.budget), "token budget, training");
    html += tile(percent(summarise(training, 0).fill), "fill, training");
  }
  return html + tile(grouped(over), "micro-batches over budget") + "</div>\n";
}

std::string lengths_section(const PackReport& report) {
  std::vector<int64_t> sorted = report.lengths;
  std::sort(sorted.begin(), sorted.end());
  const Histogram bins = histogram(sorted, kBins);
  const auto most = static_cast<double>(*std::max_element(bins.counts.begin(), bins.counts.end()));
  std::string html = fmt::format(
      "<section><h2>Lengths</h2>\n<p>{} to {} tokens; median {}, 99th percentile {}. A column is {} {} wide; the "
      "highest holds {} sequences.</p>\n<div class=\"columns\" id=\"lengths\">\n",
      grouped(sorted.front()), grouped(sorted.back()), grouped(quantile(sorted, 0.5)), grouped(quantile(sorted, 0.99)),
      grouped(bins.width), bins.width == 1 ? "token" : "tokens", grouped(static_cast<int64_t>(most)));
  for (size_t b = 0; b < bins.counts.size(); ++b) {
    const auto from = bins.width * static_cast<int64_t>(b);
    html += fmt::format("<i style=\"height:{:.2f}%\" title=\"{} to {} tokens: {} sequences\"></i>\n",
                        100 * static_cast<double>(bins.counts[b]) / most, grouped(from + 1), grouped(from + bins.width),
                        grouped(bins.counts[b]));
  }
  return html + fmt::format("</div>\n<div class=\"axis\"><span>1</span><span>{} tokens</span></div></section>\n",
                            grouped(bins.width * std::ssize(bins.counts)));
}

std::string summary_table(const StageReport& stage, const PackReport& report) {
  std::string html = fmt::format(
      "<div class=\"scroll\"><table><tr><th></th><th>micro-batches<br>per rank</th><th>fill</th><th>padding</th>"
      "<th>imbalance of<br>ranks, FLOPs</th><th>imbalance of<br>ranks, tokens</th><th>imbalance "
      "of<br>micro-batches</th>"
      "<th>{} saved<br>over padding</th><th>fillers</th><th>over<br>budget</th></tr>\n",
      work_name(report));
  for (size_t a = 0; a < stage.algorithms.size(); ++a) {
    const PlanSummary s = summarise(stage, a);
    html += fmt::format(
        "<tr{}><td>{}{}</td><td>{:.1f}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>"
        "<td>{}</td><td>{}</td></tr>\n",
        a == 0 ? " class=\"marked\"" : "", escaped_html(stage.algorithms[a]),
        a == 0 ? " <span class=\"badge\">configured</span>" : "", s.micro_batches,
        stage.budget > 0 ? percent(s.fill) : "–", percent(s.padding),
        report.counts_flops ? percent(s.rank_imbalance) : "–", percent(s.rank_imbalance_tokens),
        percent(s.micro_batch_imbalance), percent(s.saved), s.fillers, s.over_budget);
  }
  return html + "</table></div>\n";
}

double rank_work(const std::vector<MicroBatchStats>& rank) {
  double work = 0;
  for (const auto& m : rank) work += m.work;
  return work;
}

int64_t largest_load(const BatchStats& stats) {
  int64_t largest = 1;
  for (const auto& rank : stats.ranks)
    for (const auto& m : rank) largest = std::max(largest, m.tokens);
  return largest;
}

std::string fill_lane(const std::vector<MicroBatchStats>& rank, size_t number, int64_t full) {
  std::string html = fmt::format("<div class=\"lane\"><span>rank {}</span><div class=\"fills\">", number);
  int64_t tokens = 0;
  for (size_t k = 0; k < std::min(rank.size(), kMostColumns); ++k) {
    const double share = static_cast<double>(rank[k].tokens) / static_cast<double>(full);
    html += fmt::format(
        "<i title=\"micro-batch {}: {} of {} tokens ({}), {} sequences\"><b style=\"height:{:.2f}%\"></b></i>", k + 1,
        grouped(rank[k].tokens), grouped(full), percent(share), rank[k].num_sequences, 100 * share);
  }
  for (const auto& m : rank) tokens += m.tokens;
  const double mean = static_cast<double>(tokens) / static_cast<double>(full * std::max<int64_t>(1, std::ssize(rank)));
  return html + fmt::format("</div><span>{}</span></div>\n", percent(mean));
}

std::string time_lane(const std::vector<MicroBatchStats>& rank, size_t number, double longest, bool counts_flops) {
  std::string html = fmt::format("<div class=\"lane\"><span>rank {}</span><div class=\"track\">", number);
  for (size_t k = 0; k < rank.size(); ++k)
    html += fmt::format(
        "<i style=\"width:{:.3f}%\" title=\"micro-batch {}: {}\"></i>", 100 * rank[k].work / longest, k + 1,
        counts_flops ? fmt::format("{:.4g} GFLOPs forward", rank[k].work / 1e9) : grouped(rank[k].tokens) + " tokens");
  return html + fmt::format("</div><span>{}</span></div>\n", percent(1 - rank_work(rank) / longest));
}

std::string plan_column(const std::string& algorithm, const BatchStats& stats, const PackReport& report) {
  const int64_t full = stats.budget > 0 ? stats.budget : largest_load(stats);
  const size_t shown = std::min(stats.ranks.size(), kMostRanks);
  double longest = 1e-30;
  for (const auto& rank : stats.ranks) longest = std::max(longest, rank_work(rank));
  std::string html = fmt::format("<div><h3>{}: fill of each micro-batch {}</h3>\n", escaped_html(algorithm),
                                 stats.budget > 0 ? "(of the budget)" : "(of the largest one)");
  for (size_t r = 0; r < shown; ++r) html += fill_lane(stats.ranks[r], r, full);
  html +=
      fmt::format("<h3>{}: ranks over time ({}; striped: waiting)</h3>\n", escaped_html(algorithm), work_name(report));
  for (size_t r = 0; r < shown; ++r) html += time_lane(stats.ranks[r], r, longest, report.counts_flops);
  if (shown < stats.ranks.size()) html += fmt::format("<p>The first {} of {} ranks.</p>", shown, stats.ranks.size());
  if (stats.num_micro_batches() > static_cast<int64_t>(kMostColumns))
    html +=
        fmt::format("<p>The first {} of {} micro-batches of each rank.</p>", kMostColumns, stats.num_micro_batches());
  return html + "</div>\n";
}

std::string batches_table(const StageReport& stage) {
  const size_t shown = std::min(stage.batches.size(), kMostBatches);
  std::string html = fmt::format(
      "<details><summary>Each batch: {}{}</summary><div class=\"scroll\"><table><tr><th>step</th><th>mini-batch</th>"
      "<th>tokens</th><th>micro-batches per rank</th><th>fill</th><th>imbalance of ranks</th></tr>\n",
      stage.batches.size(), shown < stage.batches.size() ? fmt::format(", the first {}", shown) : "");
  for (size_t b = 0; b < shown; ++b) {
    const BatchStats& stats = stage.batches[b].plans.front();
    const auto fills = stats.fills();
    double fill = 0;
    for (const double f : fills) fill += f / static_cast<double>(fills.size());
    html +=
        fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                    stage.batches[b].step, stage.batches[b].number, grouped(stats.tokens()), stats.num_micro_batches(),
                    fills.empty() ? "–" : percent(fill), percent(stats.rank_imbalance()));
  }
  return html + "</table></div></details>\n";
}

std::string stage_section(const StageReport& stage, const PackReport& report) {
  const BatchReport& first_batch = stage.batches.front();
  std::string html =
      fmt::format("<section><h2>{}</h2>\n<p>{}{}</p>\n", escaped_html(stage_title(stage)),
                  stage.budget > 0 ? fmt::format("budget {} tokens", grouped(stage.budget)) : "not packed",
                  stage.alignment > 1 ? fmt::format(", alignment {}", stage.alignment) : "");
  html += summary_table(stage, report);
  html += fmt::format("<h3>Step {}{}</h3>\n<div class=\"pair\">\n", first_batch.step,
                      stage.trains ? fmt::format(", mini-batch {}", first_batch.number) : "");
  for (size_t a = 0; a < stage.algorithms.size(); ++a)
    html += plan_column(stage.algorithms[a], first_batch.plans[a], report);
  return html + "</div>\n" + batches_table(stage) + "</section>\n";
}

std::string budgets_section(const PackReport& report) {
  if (report.budgets.empty()) return "";
  const bool has_memory = report.budgets.front().memory.has_value();
  std::string html = fmt::format(
      "<section><h2>Training budgets</h2>\n<p>The first step packed by load_balance; {}.</p>\n"
      "<div class=\"scroll\"><table><tr><th>tokens</th><th>micro-batches<br>per "
      "rank</th><th>fill</th><th>imbalance</th>{}<th></th></tr>\n",
      has_memory ? "memory of a rank, estimated" : kNoMemory,
      has_memory ? "<th>activations, GB</th><th>total memory, GB</th>" : "");
  for (const auto& row : report.budgets) {
    html += fmt::format("<tr{}><td>{}</td><td>{:.1f}</td><td>{}</td><td>{}</td>",
                        row.is_suggested ? " class=\"marked\"" : "", grouped(row.budget), row.micro_batches,
                        percent(row.fill), percent(row.rank_imbalance));
    if (row.memory)
      html += fmt::format("<td>{:.3f}</td><td>{:.2f}</td>", row.memory->activation_bytes / 1e9,
                          row.memory->total_bytes / 1e9);
    html += fmt::format("<td class=\"badge\">{}{}</td></tr>\n", row.is_configured ? "configured " : "",
                        row.is_suggested ? "suggested" : "");
  }
  return html + fmt::format("</table></div>\n<p>Suggested: {}.</p></section>\n", escaped_html(report.budget_rule));
}

constexpr const char* kGlossary = R"(<section><h2>Terms</h2><dl>
<dt>fill</dt><dd>useful tokens of a micro-batch / budget; fillers do not count</dd>
<dt>padding</dt><dd>tokens that alignment adds, as a share of all tokens</dd>
<dt>imbalance</dt><dd>largest / mean - 1; an update takes as long as its slowest rank</dd>
<dt>saved over padding</dt><dd>work saved, compared with micro-batches of a fixed number of sequences, each padded to its longest one</dd>
<dt>filler</dt><dd>an empty micro-batch, added so that all ranks run the same number</dd></dl></section>
)";

}  // namespace

std::string report_html(const PackReport& report) {
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>roll pack-stats: {}</title>\n"
      "<style>{}</style></head>\n<body>\n",
      escaped_html(report.config), kStyle);
  html += header(report) + lengths_section(report);
  for (const auto& stage : report.stages) html += stage_section(stage, report);
  return html + budgets_section(report) + kGlossary + "</body>\n</html>\n";
}

}  // namespace roll
