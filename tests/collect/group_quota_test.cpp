#include "collect/group_quota.h"

#include <catch2/catch.hpp>
#include <optional>

#include "base/error.h"
#include "base/random.h"

namespace roll {

namespace {

using Scores = std::vector<std::optional<double>>;

QueryFilterConfig filter_of(QueryFilter type) {
  return {.type = type, .filter_args = {.threshold_down = 0.25, .threshold_up = 0.75, .std_threshold = 0.5}};
}

const Scores kUseful = {0, 1}, kUseless = {1, 1};

/// Domain a takes groups that differ, domain b every group. Rows a0.., b0..
struct Step {
  Step(const std::map<std::string, int64_t>& owed, int64_t num_rows, int64_t num_additional = 0)
      : stream(rows(owed, num_rows), {}, 3) {
    filters["a"] = filter_of(QueryFilter::kStd);
    filters["b"] = filter_of(QueryFilter::kNone);
    quota.emplace(owed, stream, filters, num_additional);
  }

  static std::vector<Row> rows(const std::map<std::string, int64_t>& owed, int64_t num_rows) {
    std::vector<Row> rows;
    for (const auto& [domain, count] : owed)
      for (int64_t i = 0; i < num_rows; ++i) {
        Row row;
        row.id = domain + std::to_string(i);
        row.domain = domain;
        row.prompt_ids = {i};
        rows.push_back(row);
      }
    return rows;
  }

  /// Starts what should start: "a" and "b" for each prompt.
  std::string next() {
    std::string domains;
    for (const Prompt& prompt : quota->next()) prompts.push_back(prompt), domains += prompt.row->domain;
    return domains;
  }

  PromptStream stream;
  std::map<std::string, QueryFilterConfig> filters;
  std::optional<GroupQuota> quota;
  std::vector<Prompt> prompts{};
};

/// Two records of each prompt that was started; their text is the row's id.
std::vector<RolloutRecord> records_of(const Step& step) {
  std::vector<RolloutRecord> records;
  for (int64_t i = 0; i < std::ssize(step.prompts); ++i)
    for (int64_t sample : {0, 1}) {
      RolloutRecord record;
      record.domain = step.prompts[i].row->domain;
      record.group_index = i;
      record.sample_index = sample;
      record.response = step.prompts[i].row->id;
      records.push_back(record);
    }
  return records;
}

}  // namespace

TEST_CASE("mean_filter keeps the groups strictly between its thresholds", "[train]") {
  const auto keeps = [](const Scores& scores) { return is_useful(scores, filter_of(QueryFilter::kMean)); };
  CHECK_FALSE(keeps({0.25, 0.25}));
  CHECK(keeps({0.26, 0.25}));
  CHECK(keeps({0.75, 0.74}));
  CHECK_FALSE(keeps({0.75, 0.75}));
}

TEST_CASE("std_filter keeps the groups whose deviation, by n - 1, is above its threshold", "[train]") {
  // {0, x} deviates by x / sqrt(2).
  const auto keeps = [](const Scores& scores) { return is_useful(scores, filter_of(QueryFilter::kStd)); };
  CHECK_FALSE(keeps({0, 0.7}));
  CHECK(keeps({1, 1.8}));
  CHECK_FALSE(keeps({2, 2}));
}

TEST_CASE("filters go by the scores that there are", "[train]") {
  const auto keeps = [](QueryFilter type, const Scores& scores) { return is_useful(scores, filter_of(type)); };
  CHECK(keeps(QueryFilter::kMean, {1, std::nullopt, 0}));
  CHECK_FALSE(keeps(QueryFilter::kMean, {1, std::nullopt, 1}));
  CHECK(keeps(QueryFilter::kStd, {1, std::nullopt, 0}));
  CHECK_FALSE(keeps(QueryFilter::kStd, {1, std::nullopt}));
  CHECK_FALSE(keeps(QueryFilter::kMean, {std::nullopt, std::nullopt}));
  CHECK(keeps(QueryFilter::kNone, {std::nullopt, std::nullopt}));
}

TEST_CASE("no_filter keeps every group", "[train]") {
  CHECK(is_useful(kUseless, filter_of(QueryFilter::kNone)));
}

TEST_CASE("another prompt starts for each that is dropped, in its domain, while others run", "[train]") {
  Step step({{"a", 2}, {"b", 1}}, 9);
  CHECK(step.next() == "aab");
  CHECK(step.prompts[0].awaits_scores);
  CHECK_FALSE(step.prompts[2].awaits_scores);
  CHECK(step.next().empty());
  step.quota->add(1, kUseless);
  CHECK(step.next() == "a");
  step.quota->add(3, kUseful);
  CHECK(step.next().empty());
  CHECK_FALSE(step.quota->is_full());
  step.quota->add(0, kUseless);
  CHECK(step.next() == "a");
  step.quota->add(4, kUseful);
  CHECK(step.quota->is_full());
  const auto counts = step.quota->counts();
  CHECK((counts.at("a").sampled == 4 && counts.at("a").dropped == 2 && counts.at("a").aborted == 0));
  CHECK((counts.at("b").sampled == 1 && counts.at("b").dropped == 0));
}

TEST_CASE("a prompt's random numbers do not depend on what other domains start", "[train]") {
  Step step({{"a", 2}, {"b", 2}}, 9);
  step.next();
  step.quota->add(0, kUseless);
  step.next();
  std::vector<uint64_t> numbers;
  for (const Prompt& prompt : step.prompts) numbers.push_back(prompt.number);
  CHECK(numbers == std::vector<uint64_t>{0, 2, 1, 3, 4});
  Step alone({{"a", 3}}, 9);
  alone.next();
  CHECK(alone.prompts[2].number == 2);  // rows of a run of one domain are numbered as they come
}

TEST_CASE("prompts run ahead of what is dropped, and those that were not needed go back", "[train]") {
  Step step({{"a", 2}, {"b", 1}}, 9, 3);
  CHECK(step.next() == "aaaaab");  // b has no filter
  CHECK_FALSE(step.prompts[1].is_ahead);
  CHECK(step.prompts[2].is_ahead);
  step.quota->add(4, kUseful);
  CHECK(step.next().empty());  // one is lacking, four run
  step.quota->add(1, kUseless);
  CHECK(step.next() == "a");
  CHECK(step.quota->needs(4));
  step.quota->add(2, kUseful);
  CHECK(step.quota->needs(4));
  CHECK_FALSE(step.quota->needs(6));  // behind two that are useful
  CHECK(step.next().empty());
  step.quota->add(3, kUseful);
  CHECK_FALSE(step.quota->needs(4));
  CHECK(step.quota->needs(5));  // b's
  CHECK_FALSE(step.quota->is_full());
  step.quota->add(0, kUseless);
  CHECK(step.quota->is_full());
  const auto counts = step.quota->counts();
  CHECK((counts.at("a").sampled == 4 && counts.at("a").dropped == 2 && counts.at("a").aborted == 2));
  const auto kept = step.quota->take(records_of(step));
  std::string order;
  for (const auto& record : kept)
    order += fmt::format("{}{} {} ", record.group_index, record.sample_index, record.response);
  const auto id = [&](int64_t i) { return step.prompts[i].row->id; };
  CHECK(order == fmt::format("00 {0} 01 {0} 10 {1} 11 {1} 20 {2} 21 {2} ", id(2), id(3), id(5)));
  PromptStream fresh(Step::rows({{"a", 0}, {"b", 0}}, 9), {}, 3);
  fresh.next({{"a", 4}, {"b", 1}});
  CHECK(step.stream.state() == fresh.state());
}

TEST_CASE("what a step trains on and where the stream then stands depend on no order of the verdicts", "[train]") {
  const auto is_useless = [](const Prompt& prompt) { return prompt.number % 3 == 0 || prompt.number % 7 == 5; };
  std::string expected;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Step step({{"a", 5}}, 7, static_cast<int64_t>(seed % 7));
    std::vector<int64_t> open;
    for (uint32_t draw = 0; !step.quota->is_full(); ++draw) {
      const size_t num_known = step.prompts.size();
      step.next();
      for (size_t i = num_known; i < step.prompts.size(); ++i) open.push_back(static_cast<int64_t>(i));
      REQUIRE(!open.empty());
      const auto pick =
          static_cast<size_t>(random_uniform({.seed = seed, .position = draw}) * static_cast<double>(open.size()));
      step.quota->add(open[pick], is_useless(step.prompts[open[pick]]) ? kUseless : kUseful);
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(pick));
    }
    std::string got;
    const auto counts = step.quota->counts().at("a");
    for (const auto& record : step.quota->take(records_of(step))) got += record.response + " ";
    got += fmt::format("{} {} {}", counts.sampled, counts.dropped, to_line(step.stream.state()));
    if (seed == 0) expected = got;
    CAPTURE(seed);
    REQUIRE(got == expected);
  }
}

TEST_CASE("a domain without hope is named, with its filter", "[train]") {
  Step step({{"a", 2}, {"b", 1}}, 5);
  step.next();
  step.quota->add(0, kUseless), step.next();
  step.quota->add(1, kUseful);  // what was lost before no longer counts
  for (int64_t i = 3; i < 7; ++i) step.quota->add(i, kUseless), step.next();
  CHECK_THROWS_WITH(step.quota->add(7, kUseless),
                    Catch::Contains("rewards.a.query_filter_config: std_filter has dropped the last 5 groups of domain "
                                    "a, whose data has 5 prompts; the step has 1 of its 2 groups"));
}

TEST_CASE("a domain with fewer prompts than it owes may lose as many groups as it owes", "[train]") {
  Step step({{"a", 3}}, 1);
  step.next();
  step.quota->add(0, kUseful), step.quota->add(1, kUseless), step.quota->add(2, kUseless);
  step.next();
  CHECK_THROWS_AS(step.quota->add(3, kUseless), UserError);
}

TEST_CASE("where pass rates are wanted every group's scores are awaited, those of dropped groups too", "[collect]") {
  PromptStream stream(Step::rows({{"a", 2}, {"b", 2}}, 6), {}, 3, {.sampler = DataSampler::kPassRate});
  std::map<std::string, QueryFilterConfig> filters{{"a", filter_of(QueryFilter::kStd)},
                                                   {"b", filter_of(QueryFilter::kNone)}};
  GroupQuota quota({{"a", 2}, {"b", 2}}, stream, filters, 1);
  const auto first = quota.next();  // a a a, b b
  REQUIRE(first.size() == 5);
  CHECK(std::ranges::all_of(first, &Prompt::awaits_scores));
  CHECK_FALSE(quota.is_full());
  quota.add(0, kUseless);
  quota.add(1, kUseful);
  quota.add(3, Scores{std::nullopt, std::nullopt});
  quota.add(4, Scores{1, std::nullopt});
  CHECK_FALSE(quota.is_full());
  quota.add(2, kUseful);
  CHECK(quota.is_full());
  CHECK(quota.next().empty());
  using Means = std::map<std::string, std::vector<std::optional<double>>>;
  CHECK(quota.mean_scores() == Means{{"a", {1, 0.5, 0.5}}, {"b", {std::nullopt, 1}}});
  quota.take({});
  stream.settle(quota.mean_scores());
  std::map<std::string, std::string> known;
  const Json state = stream.state();
  for (const auto& [name, domain] : state["domains"].items())
    for (const char part : domain["pass_rates"].get<std::string>())
      if (part != '~') known[name] += part;
  for (auto& [name, parts] : known) std::ranges::sort(parts);
  CHECK(known == std::map<std::string, std::string>{{"a", "??["}, {"b", "["}});
}

}  // namespace roll
