#include "train/group_quota.h"

#include <catch2/catch.hpp>

#include "base/error.h"

namespace roll {

namespace {

using Counts = std::map<std::string, int64_t>;
using Scores = std::vector<double>;

/// The scores of one group of `domain`.
std::vector<RolloutRecord> group(const std::string& domain, const Scores& scores) {
  std::vector<RolloutRecord> records;
  for (const double score : scores) {
    RolloutRecord record;
    record.domain = domain;
    record.score = score;
    record.reward = -1;  // filters read scores
    records.push_back(record);
  }
  return records;
}

std::vector<RolloutRecord> joined(const std::vector<std::vector<RolloutRecord>>& groups) {
  std::vector<RolloutRecord> all;
  for (const auto& one : groups) all.insert(all.end(), one.begin(), one.end());
  return all;
}

QueryFilterConfig filter_of(QueryFilter type) {
  return {.type = type, .filter_args = {.threshold_down = 0.25, .threshold_up = 0.75, .std_threshold = 0.5}};
}

/// Domain a takes groups that differ, domain b every group.
std::map<std::string, RewardWorkerConfig> rewards() {
  std::map<std::string, RewardWorkerConfig> rewards;
  rewards["a"].reward.query_filter_config = filter_of(QueryFilter::kStd);
  rewards["b"].reward.query_filter_config = filter_of(QueryFilter::kNone);
  return rewards;
}

const Scores kUseful = {0, 1}, kUseless = {1, 1};

}  // namespace

TEST_CASE("mean_filter keeps the groups strictly between its thresholds", "[train]") {
  const auto keeps = [](const Scores& scores) { return is_useful(group("a", scores), filter_of(QueryFilter::kMean)); };
  CHECK_FALSE(keeps({0.25, 0.25}));
  CHECK(keeps({0.26, 0.25}));
  CHECK(keeps({0.75, 0.74}));
  CHECK_FALSE(keeps({0.75, 0.75}));
}

TEST_CASE("std_filter keeps the groups whose deviation, by n - 1, is above its threshold", "[train]") {
  // {0, x} deviates by x / sqrt(2).
  const auto keeps = [](const Scores& scores) { return is_useful(group("a", scores), filter_of(QueryFilter::kStd)); };
  CHECK_FALSE(keeps({0, 0.7}));
  CHECK(keeps({1, 1.8}));
  CHECK_FALSE(keeps({2, 2}));
}

TEST_CASE("no_filter keeps every group", "[train]") {
  CHECK(is_useful(group("a", kUseless), filter_of(QueryFilter::kNone)));
}

TEST_CASE("only the domain that lost groups is asked for more, until every domain has its share", "[train]") {
  const auto domains = rewards();
  GroupQuota groups({{"a", 2}, {"b", 1}, {"c", 0}}, {{"a", 9}, {"b", 9}, {"c", 9}}, 2, domains);
  CHECK(groups.missing() == Counts{{"a", 2}, {"b", 1}});
  groups.add(joined({group("a", kUseless), group("a", kUseful), group("b", kUseless)}));
  CHECK(groups.missing() == Counts{{"a", 1}});
  groups.add(group("a", kUseless));
  CHECK(groups.missing() == Counts{{"a", 1}});
  CHECK_FALSE(groups.is_full());
  groups.add(group("a", kUseful));
  CHECK(groups.is_full());
  CHECK(groups.num_sampled() == Counts{{"a", 4}, {"b", 1}});
  const auto kept = groups.take();
  std::string order;
  for (const auto& record : kept) order += fmt::format("{}{} ", record.domain, record.group_index);
  CHECK(order == "a0 a0 a1 a1 b2 b2 ");
}

TEST_CASE("a domain without hope is named, with its filter", "[train]") {
  const auto domains = rewards();
  GroupQuota groups({{"a", 2}, {"b", 1}}, {{"a", 5}, {"b", 5}}, 2, domains);
  groups.add(joined({group("a", kUseless), group("a", kUseless), group("b", kUseless)}));
  groups.add(joined({group("a", kUseful), group("a", kUseless)}));  // what was lost before no longer counts
  for (int i = 0; i < 3; ++i) groups.add(group("a", kUseless));
  CHECK_THROWS_WITH(groups.add(group("a", kUseless)),
                    Catch::Contains("rewards.a.query_filter_config: std_filter has dropped the last 5 groups of domain "
                                    "a, whose data has 5 prompts; the step has 1 of its 2 groups"));
}

TEST_CASE("a domain with fewer prompts than it owes may lose as many groups as it owes", "[train]") {
  const auto domains = rewards();
  GroupQuota groups({{"a", 3}}, {{"a", 1}}, 2, domains);
  CHECK_NOTHROW(groups.add(joined({group("a", kUseful), group("a", kUseless), group("a", kUseless)})));
  CHECK_THROWS_AS(groups.add(group("a", kUseless)), UserError);
}

}  // namespace roll
