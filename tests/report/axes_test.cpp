#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "checkpoint/temporary_folder.h"
#include "report/histograms.h"
#include "report/series.h"

namespace roll {

TEST_CASE("tokens and hours are sums over the steps so far") {
  const std::map<std::string, Series> metrics{{"system/num_tokens", {{1, 2, 4}, {10, 20, 30}}},
                                              {"time/step_total", {{1, 2, 4}, {1800, std::nan(""), 1800}}},
                                              {"time/validate", {{0, 4}, {3600, 1800}}}};
  const auto axes = metric_axes(metrics);
  CHECK(axes.at("tokens").steps == std::vector<int64_t>{1, 2, 4});
  CHECK(axes.at("tokens").values == std::vector<double>{10, 30, 60});
  CHECK(axes.at("hours").steps == std::vector<int64_t>{0, 1, 4});
  CHECK(axes.at("hours").values == std::vector<double>{1, 1.5, 2.5});
  CHECK(metric_axes({}).empty());
}

TEST_CASE("neighbouring steps' histograms are put together, and what is damaged is named") {
  const test::TemporaryFolder folder;
  write_file_atomic(
      folder.path() / "histograms.jsonl",
      "{\"step\":1,\"rewards\":[[0,1,5]]}\n{\"step\":2,\"rewards\":[[0,1,2],[1,2,4]]}\n"
      "{\"step\":3,\"rewards\":[[\"x\",1,2]]}\nnonsense\n{\"step\":4,\"rewards\":[[-1,0,1]],\"evil\":[1]}\n"
      "{\"step\":2,\"rewards\":[[0,1,3],[1,2,4]]}\n{\"step\":5,\"rew");
  RunRecord run{.folder = folder.path()};
  CHECK(drawn_histograms(run, 80).dump() ==
        "{\"rewards\":{\"s\":[1,2,4],\"e\":[1,2,4],\"b\":[[[0.0,1.0,5]],[[0.0,1.0,3],[1.0,2.0,4]],[[-1.0,0.0,1]]]}}");
  CHECK(run.notes == std::vector<std::string>{"2 lines of histograms.jsonl are damaged and left out."});
  CHECK(drawn_histograms(run, 2).dump() ==
        "{\"rewards\":{\"s\":[1,4],\"e\":[2,4],\"b\":[[[0.0,1.0,8],[1.0,2.0,4]],[[-1.0,0.0,1]]]}}");
  RunRecord none{.folder = folder.path() / "none"};
  CHECK(drawn_histograms(none, 80).empty());
}

}  // namespace roll
