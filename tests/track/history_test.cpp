#include "track/history.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "base/error.h"
#include "base/file.h"

namespace roll {

TEST_CASE("a history is read back from metrics.jsonl", "[track]") {
  const auto file = std::filesystem::temp_directory_path() / fmt::format("roll_test_history_{}", ::getpid());
  MetricHistory history;
  const auto read = [&] {
    read_metrics(file, [&](int64_t step, const MetricValues& values) { history.add(step, values); });
  };
  read();
  CHECK(history.step() == -1);
  write_file_atomic(file, "{\"step\":0,\"a\":1}\n{\"step\":3,\"a\":null,\"b\":2.5}\n{\"step\":4,\"a\":7}\n");
  read();
  CHECK(history.step() == 4);
  CHECK(history.points("a").size() == 2);
  CHECK(history.points("a")[1].step == 4);
  CHECK(mean_value(history.points("a")) == 4);
  CHECK(history.last_points("a", 1)[0].value == 7);
  CHECK(history.points("c").empty());
  write_file_atomic(file, "{\"a\":1}\n");
  CHECK_THROWS_WITH(read(), Catch::Contains(":1: is not a line of metrics"));
  write_file_atomic(file, "{\"step\":2}\n{\"step\":2}\n");
  CHECK_THROWS_WITH(read_metrics(file, [](int64_t, const MetricValues&) {}),
                    Catch::Contains(":2: is not a line of metrics"));
  std::filesystem::remove(file);
}

}  // namespace roll
