#include "packing/report.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace roll {
namespace {

PackReport small_report() {
  const std::vector<int64_t> lengths{3, 5, 8, 7};
  const PackOptions options{.budget = 16, .workload = {1, 0}};
  BatchReport batch;
  batch.padded_work = padded_work(lengths, 2, options.workload);
  batch.plans = {batch_stats({{{0, 1}}, {{2, 3}}}, lengths, options),
                 batch_stats({{{0}, {1}}, {{2}, {3}}}, lengths, options)};
  StageReport stage{.trains = true,
                    .roles = {"actor_train", "critic"},
                    .budget = 16,
                    .padded_size = 2,
                    .algorithms = {"load_balance", "none"},
                    .batches = {batch},
                    .metrics = {{1, {{"packing/fill", 0.71875}}}}};
  PackReport report;
  report.config = "<b>&.yaml";
  report.source = "a list";
  report.notes = {"a note"};
  report.num_ranks = 2;
  report.lengths = lengths;
  report.num_steps = 1;
  report.stages = {stage};
  report.budgets = {{.budget = 16,
                     .micro_batches = 1,
                     .fill = 0.7,
                     .memory = BudgetMemory{.activation_bytes = 5e8, .total_bytes = 1.25e9},
                     .is_configured = true,
                     .is_suggested = true}};
  report.budget_rule = "16 tokens, a rule";
  return report;
}

}  // namespace

TEST_CASE("a summary is the mean over batches and sums what is counted", "[packing]") {
  StageReport stage = small_report().stages[0];
  const PlanSummary s = summarise(stage, 0);
  CHECK(s.micro_batches == 1);
  CHECK(s.fill == Approx(23.0 / 32));
  CHECK(s.rank_imbalance == Approx(15 / 11.5 - 1));
  CHECK(s.saved == Approx(1 - 23.0 / 26));
  CHECK(summarise(stage, 1).micro_batches == 2);
  CHECK(summarise(stage, 1).fill == Approx(23.0 / 64));
}

TEST_CASE("numbers are grouped in threes", "[packing]") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1,000");
  CHECK(grouped(-1234567) == "-1,234,567");
}

TEST_CASE("the text shows both algorithms, a bar per micro-batch and the budgets", "[packing]") {
  const std::string text = report_text(small_report(), 32);
  CAPTURE(text);
  for (const char* part : {"4 sequences in 1 step from a list; 2 data-parallel ranks", "a note", "load_balance", "none",
                           "train: actor_train, critic; budget 16 tokens", "rank 0", "rank 1", "50.0 %", "93.8 %",
                           "suggested: 16 tokens, a rule"})
    CHECK_THAT(text, Catch::Contains(part));
  CHECK_THAT(report_text(small_report(), 1), Catch::Contains("and 1 more micro-batches"));
}

TEST_CASE("the JSON holds every micro-batch and the metrics of a training", "[packing]") {
  const Json json = report_json(small_report());
  CHECK(json["stages"][0]["batches"][0]["ranks"][1][0]["tokens"] == 15);
  CHECK(json["stages"][0]["summary"][1]["algorithm"] == "none");
  CHECK(json["stages"][0]["metrics"][0]["values"]["packing/fill"] == 0.71875);
  CHECK(json["lengths"]["p50"] == 5);
  CHECK(json["budgets"][0]["suggested"] == true);
}

TEST_CASE("a report that counts tokens says so, and gives neither FLOPs nor memory", "[packing]") {
  PackReport report = small_report();
  CHECK_THAT(report_text(report, 32), Catch::Contains("0.500     1.25  configured"));
  report.counts_flops = false;
  report.budgets[0].memory = std::nullopt;
  for (const std::string& text : {report_text(report, 32), report_html(report)}) {
    CAPTURE(text);
    CHECK_THAT(text, Catch::Contains("no memory estimate, because the model's shape is unknown"));
    CHECK_THAT(text, !Catch::Contains("GFLOPs") && !Catch::Contains("FLOPs saved") && !Catch::Contains("activations"));
  }
  const Json json = report_json(report);
  CHECK(json["work"] == "tokens");
  CHECK(report_json(small_report())["work"] == "FLOPs");
  CHECK(json["stages"][0]["summary"][0]["tokens_saved"] ==
        report_json(small_report())["stages"][0]["summary"][0]["flops_saved"]);
  CHECK_FALSE(json["stages"][0]["summary"][0].contains("flops_saved"));
  CHECK_FALSE(json["stages"][0]["batches"][0]["ranks"][0][0].contains("flops"));
  CHECK(json["budgets"][0]["total_bytes"].is_null());
}

TEST_CASE("the page needs nothing but itself and shows names as they are", "[packing]") {
  const std::string html = report_html(small_report());
  for (const char* part : {"<script", "http:", "https:", "src=", "href=", "@import", "url("})
    CHECK_THAT(html, !Catch::Contains(part));
  CHECK_THAT(html, Catch::Contains("&lt;b&gt;&amp;.yaml") && !Catch::Contains("<b>&.yaml"));
  CHECK_THAT(html, Catch::Contains("micro-batch 1: 15 of 16 tokens (93.8 %), 2 sequences"));
}

}  // namespace roll
