#include "track/histogram.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "checkpoint/temporary_folder.h"
#include "track/tracker.h"

namespace roll {

namespace {

Json histograms_of(const std::vector<double>& values) {
  Metrics metrics;
  add_histogram("rewards", at::tensor(values, at::kDouble), metrics);
  MetricValues shown = metrics.values();
  return take_histograms(shown);
}

}  // namespace

TEST_CASE("each value is in the bin around it, and none that is not finite", "[track]") {
  for (const double value : {0.0, 1.0, -1.0, 0.5, 0.01, -3.7, 1234.5, 1e-9}) {
    const Json bins = histograms_of({value, std::nan(""), INFINITY}).at("rewards");
    REQUIRE(bins.size() == 1);
    CHECK(bins[0][0].get<double>() <= value);
    CHECK(value <= bins[0][1].get<double>());
    CHECK(bins[0][1].get<double>() - bins[0][0].get<double>() <= std::max(0.1001, 0.052 * std::abs(value)));
    CHECK(bins[0][2] == 1);
  }
  CHECK(histograms_of({1e300, -1e300}).at("rewards").size() == 2);
  CHECK(histograms_of({std::nan("")}).empty());
}

TEST_CASE("bins meet, ascend and add up over parts", "[track]") {
  std::vector<double> values;
  for (int i = -400; i <= 400; ++i) values.push_back(i / 100.0);
  const Json bins = histograms_of(values).at("rewards");
  int64_t count = 0;
  for (size_t i = 0; i < bins.size(); ++i) {
    count += bins[i][2].get<int64_t>();
    if (i > 0) CHECK(bins[i][0] == bins[i - 1][1]);
  }
  CHECK(count == 801);
  CHECK(bins.size() == 41 + 28);
  Metrics left, right, both;
  add_histogram("rewards", at::tensor(std::vector<double>(values.begin(), values.begin() + 300), at::kDouble), left);
  add_histogram("rewards", at::tensor(std::vector<double>(values.begin() + 300, values.end()), at::kDouble), right);
  both.merge(left);
  both.merge(right);
  MetricValues shown = both.values();
  CHECK(take_histograms(shown).at("rewards") == bins);
  CHECK(shown.empty());
}

TEST_CASE("other metrics stay where they are, whatever they are called", "[track]") {
  MetricValues values{{"histogram/score/mean", 1}, {"histogram/x", 2}, {"kl", 3}, {"histogram/rewards/-3", 4}};
  const Json histograms = take_histograms(values);
  CHECK(histograms.size() == 1);
  CHECK(histograms.at("rewards")[0][2] == 4);
  CHECK((values == MetricValues{{"histogram/score/mean", 1}, {"histogram/x", 2}, {"kl", 3}}));
}

TEST_CASE("a step's line begins with its number, and a step without histograms has none", "[track]") {
  const test::TemporaryFolder folder;
  std::ostringstream out, err;
  Log log(out, err, {});
  const TrackerOptions options{
      .track_with = {TrackerKind::kJsonl}, .output_dir = folder.path(), .tensorboard_dir = folder.path()};
  Tracker tracker(options, log);
  tracker.write(1, {{"histogram/rewards/10", 1}}, 3);
  tracker.write(2, {{"kl", 1}}, 3);
  Tracker(options, log).write(3, {{"histogram/rewards/0", 1}}, 3);
  CHECK(read_file(folder.path() / kHistogramFile) ==
        "{\"step\":1,\"rewards\":[[0.95,1.05,1]]}\n{\"step\":3,\"rewards\":[[-0.05,0.05,1]]}\n");
}

}  // namespace roll
