#include "pipeline/schedule.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

using namespace roll;

namespace {

std::string text_of(int64_t stage, const PipelineShape& shape, int64_t num_micro_batches) {
  std::string text;
  for (const auto& [is_forward, k, chunk] : one_forward_one_backward(stage, shape, num_micro_batches)) {
    text += (is_forward ? "F" : "B") + std::to_string(k);
    if (shape.num_chunks > 1) text += static_cast<char>('a' + chunk);
    text += ' ';
  }
  return text;
}

/// Seconds of all passes: a forward's, and a backward's.
std::vector<std::vector<double>> taking(const PipelineShape& shape, int64_t num_micro_batches, double forward,
                                        double backward) {
  std::vector<std::vector<double>> seconds(shape.num_stages);
  for (int64_t s = 0; s < shape.num_stages; ++s)
    for (const PipelinePass& pass : one_forward_one_backward(s, shape, num_micro_batches))
      seconds[s].push_back(pass.is_forward ? forward : backward);
  return seconds;
}

/// Passes of a stage, at most, that have gone forward and not back.
int64_t most_at_once(int64_t stage, const PipelineShape& shape, int64_t num_micro_batches) {
  int64_t under_way = 0, most = 0;
  for (const PipelinePass& pass : one_forward_one_backward(stage, shape, num_micro_batches)) {
    under_way += pass.is_forward ? 1 : -1;
    most = std::max(most, under_way);
  }
  return most;
}

}  // namespace

TEST_CASE("Stages begin with as many forwards as are behind them, then alternate", "[pipeline]") {
  CHECK(text_of(0, {1}, 3) == "F0 B0 F1 B1 F2 B2 ");
  CHECK(text_of(0, {3}, 4) == "F0 F1 F2 B0 F3 B1 B2 B3 ");
  CHECK(text_of(1, {3}, 4) == "F0 F1 B0 F2 B1 F3 B2 B3 ");
  CHECK(text_of(2, {3}, 4) == "F0 B0 F1 B1 F2 B2 F3 B3 ");
  CHECK(text_of(0, {4}, 1) == "F0 B0 ");
  CHECK(text_of(0, {4}, 0).empty());
}

TEST_CASE("Chunks take turns, of as many micro-batches as there are stages", "[pipeline]") {
  CHECK(text_of(1, {2, 2}, 2) == "F0a F1a F0b B0b F1b B1b B0a B1a ");
  CHECK(text_of(0, {2, 2}, 4) == "F0a F1a F0b F1b F2a B0b F3a B1b F2b B0a F3b B1a B2b B3b B2a B3a ");
  CHECK(text_of(1, {2, 2}, 3) == "F0a F1a F0b B0b F1b B1b F2a B0a B1a F2b B2b B2a ");  // the fourth one is left out
  CHECK(text_of(0, {2, 3}, 1) == "F0a F0b F0c B0c B0b B0a ");
  std::string text;
  for (const auto& [is_forward, k, chunk] : forwards({2, 2}, 3))
    text += std::to_string(k) + static_cast<char>('a' + chunk);
  CHECK(text == "0a1a0b1b2a2b");
}

TEST_CASE("A pipeline ends, idles by its bubble and holds few micro-batches", "[pipeline]") {
  for (const int64_t stages : {1, 2, 3, 4, 7})
    for (const int64_t chunks : {1, 2, 3})
      for (const int64_t batches : {1, 2, 3, 8, 20, 21}) {
        const PipelineShape shape{stages, stages == 1 ? 1 : chunks};
        INFO(stages << " stages, " << chunks << " chunks, " << batches << " micro-batches");
        const double idle = idle_share(shape, batches, taking(shape, batches, 1, 2));
        const double bubble = bubble_share(shape, batches);
        const bool takes_even_turns = shape.num_chunks == 1 || batches % stages == 0;
        CHECK((takes_even_turns ? idle == Approx(bubble).margin(1e-12) : idle > bubble));
        for (int64_t s = 0; s < stages; ++s) {
          const auto most =
              static_cast<double>(most_at_once(s, shape, batches)) / static_cast<double>(shape.num_chunks);
          CHECK(most <= max_in_flight(s, shape));
          if (batches >= 2 * stages) CHECK(most == Approx(max_in_flight(s, shape)));
        }
      }
}

TEST_CASE("Stages idle by what each pass takes", "[pipeline]") {
  std::vector<std::vector<double>> seconds = taking({2}, 3, 1, 1);
  CHECK(idle_share({2}, 3, seconds) == Approx(1.0 / 4));
  for (double& pass : seconds[1]) pass = 3;  // the second stage works all the time but for the first's two passes
  CHECK(idle_share({2}, 3, seconds) == Approx(1 - 24.0 / (2 * 20)));
  CHECK(idle_share({2}, 0, {{}, {}}) == 0);
  CHECK(pipeline_seconds({2, 2, 2}, 4) == Approx(2 * (4 + 2) / 4.0));  // (m + p - 1) / m
  CHECK(pipeline_seconds({1, 6}, 3) == Approx(6 + 1 / 3.0));
  CHECK(pipeline_seconds({1, 6}, 0) == 7);  // of what has no passes the stages come one after the other
}
