#include "dist/merged_metrics.h"

#include <catch2/catch.hpp>

#include "dist/local_ranks.h"

namespace roll {
namespace {

/// What this rank measures: ranks from `unlike` on have a name more.
Metrics metrics_of(int rank, int unlike) {
  Metrics metrics;
  for (const char* name : {"response_length/mean", "response_length/max@max", "score/mean", "reward/sum@sum"})
    metrics.add(name, rank + 1, rank + 1);
  if (rank >= unlike) metrics.add("only/here@max", rank);
  return metrics;
}

Metrics merged_here(int size, int unlike) {
  Metrics merged;
  for (int rank = 0; rank < size; ++rank) merged.merge(metrics_of(rank, unlike));
  return merged;
}

/// "same", and the bytes that the first rank sends to each of the others.
std::string merged(Communicator& ranks, int unlike) {
  ranks.traffic().take();
  const Metrics all = merge_over_ranks(metrics_of(ranks.rank(), unlike), ranks);
  int64_t bytes = 0;
  for (const auto& [key, count] : ranks.traffic().take()) bytes += count.bytes;
  const bool is_same = all.values() == merged_here(ranks.size(), unlike).values();
  return std::string(is_same ? "same" : "differs") +
         (ranks.is_first() ? fmt::format(", {} B", bytes / (ranks.size() - 1)) : "");
}

}  // namespace

TEST_CASE("merged metrics come to all ranks, by name only where somebody lacks a name", "[dist]") {
  for (const int size : {3, 9}) {
    CAPTURE(size);
    std::vector<std::string> same(size, "same");
    same[0] = "same, 84 B";  // tag, version, three lists' lengths, and a weight and a value of each name
    CHECK(test::run_local_ranks(size, [&](Communicator& ranks) { return merged(ranks, size); }) == same);
    same[0] = fmt::format("same, {} B", encode_message(merged_here(size, 1).message()).size());
    CHECK(test::run_local_ranks(size, [&](Communicator& ranks) { return merged(ranks, 1); }) == same);
  }
}

}  // namespace roll
