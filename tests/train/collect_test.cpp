#include "train/collect.h"

#include <catch2/catch.hpp>

namespace roll {

namespace {

/// The groups (by their first reward) that a filter keeps of groups of two.
std::vector<double> kept(const std::vector<std::pair<double, double>>& groups, const std::string& type) {
  std::vector<RolloutRecord> records;
  for (const auto& [first, second] : groups)
    for (const double reward : {first, second}) {
      RolloutRecord record;
      record.domain = "d";
      record.reward = reward;
      records.push_back(record);
    }
  std::map<std::string, RewardWorkerConfig> rewards;
  QueryFilterConfig& filter = rewards["d"].reward.query_filter_config;
  filter.type = named<QueryFilter>(type);
  filter.filter_args.threshold_down = 0.25;
  filter.filter_args.threshold_up = 0.75;
  filter.filter_args.std_threshold = 0.5;
  const auto useful = keep_useful_groups(records, 2, rewards);
  std::vector<double> firsts;
  for (size_t i = 0; i < useful.size(); i += 2) firsts.push_back(useful[i].reward);
  return firsts;
}

}  // namespace

TEST_CASE("mean_filter keeps the groups strictly between its thresholds", "[train]") {
  CHECK(kept({{0.25, 0.25}, {0.26, 0.25}, {0.75, 0.74}, {0.75, 0.75}}, "mean_filter") ==
        std::vector<double>{0.26, 0.75});
}

TEST_CASE("std_filter keeps the groups whose deviation, by n - 1, is above its threshold", "[train]") {
  // {0, x} deviates by x / sqrt(2).
  CHECK(kept({{0, 0.7}, {1, 1.8}, {2, 2}}, "std_filter") == std::vector<double>{1});
}

TEST_CASE("no_filter keeps every group", "[train]") {
  CHECK(kept({{0, 0}, {1, 1}}, "no_filter") == std::vector<double>{0, 1});
}

}  // namespace roll
